// A copy of the project with a mutant in it. Never in place: a run that is stopped in the middle would leave it there.

import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** @typedef {import("../../test/mutants/source-mutant.ts").SourceMutant} SourceMutant */

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What no test of the copy reads, or what is linked instead. */
const LEFT_OUT = new Set([".git", "node_modules", "bench", "coverage"]);

/**
 * @param {SourceMutant | undefined} mutant
 * @param {{ filesOf: (mutant: SourceMutant) => readonly string[], mutated: (mutant: SourceMutant, file: string, text: string) => string }} texts
 * @returns {Promise<string>} its folder, with dist/ built; to be given to `removeCopy`
 * @throws {Error} it does not compile
 */
export async function copyWith(mutant, { filesOf, mutated }) {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-mutant-"));
  chmodSync(folder, 0o711); // as root, servers of the tests are another user's
  for (const entry of readdirSync(ROOT)) {
    if (LEFT_OUT.has(entry) || entry.startsWith("dist-")) continue;
    const filter = (/** @type {string} */ path) => !path.endsWith("node_modules");
    cpSync(join(ROOT, entry), join(folder, entry), { recursive: true, filter });
  }
  link("node_modules", folder);
  for (const part of readdirSync(join(ROOT, "test"))) link(join("test", part, "node_modules"), folder);
  if (mutant === undefined) return folder;
  for (const file of filesOf(mutant)) {
    const text = mutated(mutant, file, readFileSync(join(ROOT, file), "utf8"));
    writeFileSync(join(folder, file), text);
    if (!file.endsWith(".ts")) writeFileSync(join(folder, file.replace(/^src/, "dist")), text);
  }
  if (filesOf(mutant).some((file) => file.endsWith(".ts"))) await build(folder);
  return folder;
}

/** @param {string} folder */
export function removeCopy(folder) {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * A folder of its own with a link for each package: what tools keep in node_modules/ is then theirs alone.
 *
 * @param {string} path
 * @param {string} folder
 */
function link(path, folder) {
  if (!existsSync(join(ROOT, path))) return;
  mkdirSync(join(folder, path), { recursive: true });
  for (const entry of readdirSync(join(ROOT, path)))
    if (!entry.startsWith(".") || entry === ".bin")
      symlinkSync(join(ROOT, path, entry), join(folder, path, entry));
}

/** @param {string} folder */
async function build(folder) {
  const { code, told } = await run(["scripts/build.js", "--quiet"], folder);
  if (code !== 0) throw new Error(`it does not compile: ${told.trim()}`);
}

/**
 * Runs a script with Node, in a group of its own, so that whatever it started ends with it.
 *
 * @param {readonly string[]} args
 * @param {string} folder
 * @param {{ longestMs?: number, env?: Record<string, string> }} [options]
 * @returns {Promise<{ code: number, told: string, seconds: number, isLate: boolean }>}
 */
export async function run(args, folder, { longestMs = 600_000, env = {} } = {}) {
  const startedAtMs = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: folder,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TMPDIR: tmpdir(), ...env },
  });
  let told = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => (told += text));
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }, longestMs);
  const [code] = await once(child, "close");
  clearTimeout(timer);
  return { code: code ?? -1, told, seconds: (performance.now() - startedAtMs) / 1_000, isLate };
}
