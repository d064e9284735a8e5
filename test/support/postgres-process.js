// What it takes to make and run a PostgreSQL server, shared by the keeper of the run's servers and those of single tests.

import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { unprivileged } from "./keeping.js";

/** Nothing of the caller's surroundings changes how a server behaves. */
export const SERVER_ENV = { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" };

/**
 * Makes the folder and, in it, a server's files.
 *
 * @param {string} initdb
 * @param {string} data
 * @param {"inherit" | number} [output] where it says what went wrong
 * @returns {boolean} whether it went well
 */
export function makeServer(initdb, data, output = "inherit") {
  const user = unprivileged();
  mkdirSync(data, { mode: 0o700 });
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid ?? user.uid);
  const args = ["-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"];
  const made = spawnSync(initdb, args, {
    ...user,
    env: SERVER_ENV,
    cwd: data,
    stdio: ["ignore", output, output],
  });
  return made.status === 0;
}

/**
 * @param {Readonly<Record<string, string | number>>} settings
 * @returns {string[]}
 */
export function asArguments(settings) {
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/**
 * Whether the server takes sessions. It says so in the eighth line of that file; before, it speaks already but lets
 * nobody in.
 *
 * @param {string} data
 */
export function isReady(data) {
  const file = join(data, "postmaster.pid");
  return existsSync(file) && readFileSync(file, "utf8").split("\n")[7]?.trim() === "ready";
}
