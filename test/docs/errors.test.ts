import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as refusals from "../../src/destinations/refusals.ts";
import * as errors from "../../src/errors.ts";
import * as door from "../../src/index.ts";
import * as isolation from "../../src/worker/isolation/errors.ts";
import { page, ROOT, tableRows, unquoted } from "./markdown.ts";

/** Codes are fields of instances, and each class is made in its own way; so they are read where they are written. */
const source = [
  ...readdirSync(join(ROOT, "src/errors")).map((file) => `src/errors/${file}`),
  "src/destinations/refusals.ts",
  "src/worker/isolation/errors.ts",
]
  .map((file) => readFileSync(join(ROOT, file), "utf8"))
  .join("\n");
const inCode = [
  ...source.matchAll(/class (\w+) extends LeaseholdError \{\s+readonly code = "([^"]*)";/g),
].map(([, name, code]) => ({ name, code }));
const onPage = tableRows(page("docs/reference/errors.md"), "", "code");

describe("the page of errors", () => {
  it("lists each class with its code, and no other", () => {
    const listed = onPage.map((row) => ({
      name: unquoted(row["class"] ?? ""),
      code: unquoted(row["code"] ?? ""),
    }));
    expect(byName(listed)).toEqual(byName(inCode));
  });

  it("says of each when it comes and how to solve it", () => {
    for (const row of onPage) {
      expect(row["when"]?.length, `${row["code"]}: when`).toBeGreaterThan(20);
      expect(row["how to solve"]?.length, `${row["code"]}: how to solve`).toBeGreaterThan(10);
    }
  });
});

describe("the error classes", () => {
  it("all have a code, which begins with LH_ and is no other's", () => {
    const classes = Object.values({ ...errors, ...refusals, ...isolation }).filter(
      (value) => typeof value === "function" && value.prototype instanceof errors.LeaseholdError,
    );
    expect(inCode.map(({ name }) => name).sort()).toEqual(classes.map(({ name }) => name).sort());
    for (const { code } of inCode) expect(code).toMatch(/^LH_[A-Z]+(_[A-Z]+)*$/);
    expect(new Set(inCode.map(({ code }) => code)).size).toBe(inCode.length);
  });

  it("are all exported by the package", () => {
    const exported = Object.keys(door);
    for (const { name } of [...inCode, { name: "LeaseholdError" }]) expect(exported).toContain(name);
  });
});

function byName<T extends { readonly name: string | undefined }>(list: readonly T[]): T[] {
  return [...list].sort((a, b) => String(a.name).localeCompare(String(b.name)));
}
