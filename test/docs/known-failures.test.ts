/** Each row of the page names tests that hold what it says: their files must exist, and have tests of these titles. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { page, pages, ROOT, tableRows } from "./markdown.ts";

const PAGES = pages().filter((path) => path.startsWith("docs/explanation/known-failures"));

describe.each(PAGES)("%s", (path) => {
  const rows = tableRows(page(path), "", "elsewhere");

  it("says of each failure where it was told and what happens here", () => {
    expect(rows.length).toBeGreaterThan(15);
    for (const { elsewhere = "", here = "" } of rows) {
      expect(elsewhere).toMatch(/[\w.-]+\/[\w.-]+#\d+$/);
      expect(here.length, elsewhere).toBeGreaterThan(30);
    }
  });

  it("names tests that exist", () => {
    for (const { elsewhere = "", tests = "" } of rows) {
      for (const named of tests.split("<br>")) {
        const [, file = "", title = ""] = /^`([^`]+)`: (.+)$/.exec(named) ?? [];
        expect(existsSync(join(ROOT, file)), `${elsewhere}: ${named}`).toBe(true);
        expect(titlesIn(file), `${elsewhere}: ${file}`).toContain(title);
      }
    }
  });
});

/** As they are written: `%d` and `${zone}` stand for what a table of cases puts in. */
function titlesIn(file: string): string[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const calls = /\b(?:it|test)(?:\.each\([\s\S]*?\))?\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1/g;
  return [...text.matchAll(calls)].map(([, , title]) => title as string);
}
