// src/ to dist/: the compiler for its types, the bundler for its code, then the SQL and Lua files beside what reads them. Built
// aside and put in place by two renames, so that whoever runs from dist/ meanwhile never sees half of it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "./build/bundle.js";
import { licences } from "./build/licences.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
// A sibling of dist/, so that source maps keep their relative paths when it is renamed.
const fresh = join(root, `dist-${process.pid}`);
const stale = join(root, `dist-${process.pid}-old`);

try {
  const compiling = compile();
  // Should this fail, the compiler must not go on to write into a folder that is being removed.
  const packages = await bundle(root, fresh).finally(() => compiling);
  if (await compiling) {
    copyTexts();
    writeFileSync(join(fresh, "THIRD-PARTY-LICENSES.txt"), licences(root, packages));
    chmodSync(join(fresh, "cli", "main.js"), 0o755); // npm does so when it installs; a checkout has only us
    putInPlace();
    if (!process.argv.includes("--quiet")) console.log("built dist/");
  } else {
    process.exitCode = 1;
  }
} finally {
  for (const folder of [fresh, stale]) rmSync(folder, { recursive: true, force: true });
}

/** @returns {Promise<boolean>} false when a source has a type error, which the compiler has then printed */
async function compile() {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const args = [tsc, "--project", join(root, "tsconfig.build.json"), "--outDir", fresh];
  const [code] = await once(spawn(process.execPath, args, { cwd: root, stdio: "inherit" }), "close");
  return code === 0;
}

function copyTexts() {
  const source = join(root, "src");
  for (const file of readdirSync(source, { recursive: true, encoding: "utf8" })) {
    if (/\.(sql|lua)$/.test(file)) cpSync(join(source, file), join(fresh, file));
  }
}

function putInPlace() {
  unless(["ENOENT"], () => renameSync(dist, stale));
  // Should another build of the same sources be quicker, its dist/ is as good as ours.
  unless(["ENOTEMPTY", "EEXIST"], () => renameSync(fresh, dist));
}

/**
 * Runs `act`, passing over the errors whose codes are given.
 *
 * @param {string[]} codes
 * @param {() => void} act
 */
function unless(codes, act) {
  try {
    act();
  } catch (error) {
    if (!codes.includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? "")) throw error;
  }
}
