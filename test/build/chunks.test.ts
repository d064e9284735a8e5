/** dist/ as built: each module once, told where it stands, and with the names that its author gave. */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DIST = join(ROOT, "dist");

it("has each module in one file, so that a class is one through whichever door it comes", () => {
  const places = new Map<string, string[]>();
  for (const { file, sources } of sourceMaps())
    for (const source of sources) places.set(source, [...(places.get(source) ?? []), file]);
  expect(places.get(join("src", "errors", "leasehold-error.ts"))).toEqual([join("lib", "base.js.map")]);
  expect([...places].filter(([, files]) => files.length > 1)).toEqual([]);
});

it("has no two files that import each other, so that none runs before what it needs", () => {
  const ended = new Set<string>();
  const circles: string[] = [];
  const follow = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) circles.push([...way, file].join(" imports "));
    else if (!ended.has(file)) for (const next of importsOf(file)) follow(next, [...way, file]);
    ended.add(file);
  };
  for (const file of files(".js")) follow(file, []);
  expect(importsOf("index.js")).toContain(join("lib", "leasehold.js"));
  expect(circles).toEqual([]);
});

it("has at its door whatever a thread or a process starts from, and the texts where they are read", () => {
  const wanted = sources().flatMap((file) => {
    const text = readFileSync(join(ROOT, "src", file), "utf8");
    const names = [...text.matchAll(/new URL\("(\.[^"]*)", import\.meta\.url\)/g)].map(
      ([, name]) => name ?? "",
    );
    return names.map((name) => join(DIST, dirname(file), name));
  });
  expect(wanted).toContain(join(DIST, "worker", "renewal-thread.js"));
  expect(wanted).toContain(join(DIST, "stores", "sqlite", "sql", "/"));
  expect(wanted.filter((file) => !existsSync(file))).toEqual([]);
});

it("keeps the names of classes, by which errors tell theirs", () => {
  const { renamed, classes } = inNode(`
    const entries = ${JSON.stringify(entries())}.map((name) => import(name));
    const exported = (await Promise.all(entries)).flatMap((entry) => Object.entries(entry));
    const classes = exported.filter(([, value]) => /^class\\b/.test(String(value)));
    const renamed = classes.filter(([name, { name: own }]) => own !== name);
    console.log(JSON.stringify({ classes: classes.length, renamed }));`) as {
    renamed: string[];
    classes: number;
  };
  expect(classes).toBeGreaterThan(30);
  expect(renamed).toEqual([]);
});

it("throws the same errors through every door", () => {
  const caught = inNode(`
    import { InvalidArgumentError, StaleTokenError } from "leasehold";
    import { StaleTokenError as asDestinationsHaveIt } from "leasehold/destinations/sqlite";
    import { sqlite } from "leasehold/sqlite";
    const error = await (async () => sqlite(7))().catch((error) => error);
    const isOne = StaleTokenError === asDestinationsHaveIt;
    console.log(JSON.stringify([error instanceof InvalidArgumentError, isOne]));`);
  expect(caught).toEqual([true, true]);
});

it("has source maps that lead to the source", () => {
  const stack = inNode(
    `import { defineJob } from "leasehold";
    try { defineJob({ name: "" }) } catch (error) { console.log(JSON.stringify(error.stack)) }`,
    ["--enable-source-maps"],
  );
  expect(stack).toContain(join(ROOT, "src", "client", "define-job.ts"));
});

it("comes with the licence of every package that is built in", () => {
  const texts = readFileSync(join(DIST, "THIRD-PARTY-LICENSES.txt"), "utf8");
  const packages = new Set(
    sourceMaps().flatMap(({ sources }) =>
      sources.flatMap((source) => /^node_modules\/((@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []),
    ),
  );
  expect(packages).toContain("uuid");
  expect([...packages].filter((name) => !new RegExp(`^${name} \\d`, "m").test(texts))).toEqual([]);
});

function sources(): string[] {
  const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" });
  return files.filter((file) => file.endsWith(".ts"));
}

/** Of code, not of types; what they lead to is told relative to the project. */
function sourceMaps(): { file: string; sources: string[] }[] {
  return files(".js.map").map((file) => {
    const map = JSON.parse(readFileSync(join(DIST, file), "utf8")) as { sources: string[] };
    const folder = dirname(join(DIST, file));
    return { file, sources: map.sources.map((source) => relative(ROOT, resolve(folder, source))) };
  });
}

/** Those of dist/ with this ending. */
function files(ending: string): string[] {
  return readdirSync(DIST, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(ending));
}

/** Static ones, of files in dist/. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(DIST, file), "utf8");
  const names = [...text.matchAll(/^(?:import|export) (?:[^;]* from )?"(\.[^"]+)";$/gm)];
  return names.map(([, name]) => join(dirname(file), name ?? ""));
}

/** The names by which an application imports each entry of the package that is code. */
function entries(): string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { exports: object };
  const names = Object.keys(manifest.exports).filter((name) => !name.endsWith(".json"));
  return names.map((name) => `leasehold${name.slice(1)}`);
}

/** What a program printed as JSON. */
function inNode(program: string, options: readonly string[] = []): unknown {
  const args = [...options, "--input-type=module", "--eval", program];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout);
}
