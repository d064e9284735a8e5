// What it takes to begin.
//
// import: a Node process that imports the package and ends, from its start to its end, less what one takes that imports
// nothing; the two in turns. help: `leasehold --help` from the start of its process to its end.
// first job: a process has loaded the system's code; from opening it on a database that holds nothing yet, over making its
// tables, starting a worker and adding one job, to the beginning of the handler.

import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { median } from "../statistics.js";
import { nowMs } from "../systems/system.js";
import { inFreshPlace } from "./place.js";

/** The first one reads files that the system does not have in memory yet, and does not count. */
const TIMES = 16;

const root = fileURLToPath(new URL("../../", import.meta.url));
const commandLine = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const firstJobScript = fileURLToPath(new URL("./first-job-process.js", import.meta.url));

/** ms. @param {string} name such as `leasehold/postgres`, found as an application in this folder would find it */
export async function importMs(name) {
  const bare = [];
  const importing = [];
  for (let n = 0; n < TIMES; n++) {
    bare.push(await processMs(["--input-type=module", "--eval", ""]));
    importing.push(await processMs(["--input-type=module", "--eval", `import ${JSON.stringify(name)}`]));
  }
  return median(importing.slice(1)) - median(bare.slice(1));
}

/** ms. */
export async function helpMs() {
  const times = [];
  for (let n = 0; n < TIMES; n++) times.push(await processMs([commandLine, "--help"]));
  return median(times.slice(1));
}

/**
 * ms.
 *
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 */
export function firstJobMs(system, setting) {
  return inFreshPlace(setting, async (place) => {
    const child = fork(firstJobScript, [JSON.stringify({ system: system.name, place })]);
    const exited = once(child, "exit");
    try {
      const ended = exited.then(() =>
        Promise.reject(new Error(`a process of ${system.name} ended without a job`)),
      );
      const [tookMs] = await Promise.race([once(child, "message"), ended]);
      return /** @type {number} */ (tookMs);
    } finally {
      child.kill("SIGKILL");
      await exited;
    }
  });
}

/** From its start to its end, ms. @param {string[]} args of Node */
async function processMs(args) {
  // Where Node is told of certificates, it reads them at every start.
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  const beganMs = nowMs();
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}`);
  return nowMs() - beganMs;
}
