/** What starts has few files to load: they are what start-up takes its time for. Counted, since a time says more of the machine. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const PROBE = new URL("./loaded-files.js", import.meta.url).href;

it.each([
  // Its door, five chunks, croner.
  ["leasehold", 7],
  // Its door, its chunk and three below it.
  ["leasehold/sqlite", 5],
  ["leasehold/postgres", 6],
  ["leasehold/destinations/sqlite", 5],
  ["leasehold/destinations/postgres", 6],
  ["leasehold/destinations/file", 5],
  ["leasehold/destinations/redis", 5],
])("%s is %d files", async (name, most) => {
  const loaded = await loadedBy(["--input-type=module", "--eval", `import ${JSON.stringify(name)}`]);
  expect(loaded).toContain("dist/lib/base.js");
  expect(loaded.length, loaded.join("\n")).toBeLessThanOrEqual(most);
});

it("leasehold --help is 5 files, and nothing of what its commands do", async () => {
  const loaded = await loadedBy([fileURLToPath(new URL("dist/cli/main.js", ROOT)), "--help"]);
  expect(loaded).toContain("dist/cli/main.js");
  expect(loaded).not.toContain("dist/lib/leasehold.js");
  expect(loaded.length, loaded.join("\n")).toBeLessThanOrEqual(5);
});

/** Relative to the project. */
async function loadedBy(args: readonly string[]): Promise<string[]> {
  const child = spawn(process.execPath, ["--import", PROBE, ...args], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "inherit", "pipe"],
  });
  const [told, [code]] = await Promise.all([
    text(child.stdio[3] as NodeJS.ReadableStream),
    once(child, "close"),
  ]);
  expect(code).toBe(0);
  const isOwn = (url: string): boolean => url.startsWith(ROOT.href) && !url.endsWith("]"); // as [eval1] does
  return told
    .split("\n")
    .filter(isOwn)
    .map((url) => url.slice(ROOT.href.length));
}
