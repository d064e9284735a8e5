// What it takes to make and run a PostgreSQL server, shared by the keeper of the run's servers and those of single tests.

import { spawnSync } from "node:child_process";
import { chownSync, mkdirSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";

/** Nothing of the caller's surroundings changes how a server behaves. */
export const SERVER_ENV = { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" };

/** @returns {{ uid?: number, gid?: number }} as whom the programs are to run: PostgreSQL refuses to run as root */
export function serverUser() {
  return process.geteuid?.() === 0 ? nobody() : {};
}

/** @returns {{ uid: number, gid: number }} a user without rights that every Unix has */
function nobody() {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith("nobody:"));
  const [, , uid, gid] = (line ?? "nobody:x:65534:65534").split(":").map(Number);
  return { uid: uid ?? 65534, gid: gid ?? 65534 };
}

/**
 * Makes the folder and, in it, a server's files.
 *
 * @param {string} initdb
 * @param {string} data
 * @param {"inherit" | number} [output] where it says what went wrong
 * @returns {boolean} whether it went well
 */
export function makeServer(initdb, data, output = "inherit") {
  const user = serverUser();
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
 * @param {number} [wanted] 0: any
 * @returns {Promise<number | undefined>} a port that was free a moment ago
 */
export function freePort(wanted = 0) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.on("error", () => resolve(undefined));
    probe.listen(wanted, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : undefined));
    });
  });
}

/**
 * Whether the server speaks: to a request for encryption it answers with one letter.
 *
 * @param {number} port
 * @returns {Promise<boolean>}
 */
export function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => socket.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])));
    socket.on("data", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
    socket.on("end", () => resolve(false));
  });
}

/**
 * @param {number} pid
 * @returns {boolean}
 */
export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}
