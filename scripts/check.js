// Everything about the package that is not a test: each step prints one line, and what it said only when it failed.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** @typedef {{ name: string, ok: boolean }} Step */

const root = fileURLToPath(new URL("..", import.meta.url));
const installed = join(root, "node_modules");

/**
 * Runs every step, side by side where one does not need another.
 *
 * @returns {Promise<Step[]>} those that ran; without a build the steps that read dist/ are left out
 */
export async function check() {
  const sources = Promise.all([
    step("format and lint", "@biomejs/biome/bin/biome", ["check", "--error-on-warnings", "--colors=off"]),
    step("unused code and dependencies", "knip/bin/knip.js", ["--no-progress"]),
  ]);
  const build = await step("build", "../scripts/build.js", ["--quiet"]);
  const built = build.ok
    ? Promise.all([
        // Some tests run what was built, and take their types from there.
        step("types", "typescript/bin/tsc", ["--noEmit"]),
        step("exported names", "../scripts/surface.js", []),
        step("publint", "publint/src/cli.js", ["--strict"]),
        step("attw", "@arethetypeswrong/cli/dist/index.js", [
          "--pack",
          ".",
          "--profile",
          "esm-only",
          "--no-color",
        ]),
      ])
    : [];
  return [...(await sources), build, ...(await built)];
}

/**
 * @param {string} name
 * @param {string} script relative to node_modules/
 * @param {string[]} args
 * @returns {Promise<Step>}
 */
function step(name, script, args) {
  const startedAtMs = performance.now();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(installed, script), ...args], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    child.on("close", (code) => {
      const ok = code === 0;
      const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
      console.log(`${ok ? "ok    " : "FAILED"} ${name} (${seconds} s)`);
      if (!ok) console.log(output.trimEnd().replace(/^/gm, "       "));
      resolve({ name, ok });
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const steps = await check();
  if (steps.some(({ ok }) => !ok)) process.exitCode = 1;
}
