// Makes and runs one throw-away server, and ends it when told to or when the run that it belongs to is gone, however that
// ended. Arguments: initdb, postgres, the server's folder, the run's process id.

import { spawn, spawnSync } from "node:child_process";
import { chownSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";

const [, , initdb = "", postgres = "", home = "", parent = ""] = process.argv;
const data = join(home, "data");

writeFileSync(join(home, "keeper"), String(process.pid));
process.on("exit", (code) => {
  if (code !== 0) writeFileSync(join(home, "failed"), String(code));
});

// PostgreSQL refuses to run as root.
const user = process.geteuid?.() === 0 ? nobody() : {};
mkdirSync(data, { mode: 0o700 });
if (user.uid !== undefined) chownSync(data, user.uid, user.gid ?? user.uid);
const env = { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" };

const made = spawnSync(
  initdb,
  ["-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"],
  { ...user, env, cwd: data, stdio: "inherit" },
);
if (made.status !== 0) process.exit(1);

const port = await freePort();
// Durability is not what these tests are about.
const settings = {
  listen_addresses: "127.0.0.1",
  port,
  unix_socket_directories: "",
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "off",
  max_connections: 200,
};
const server = spawn(
  postgres,
  ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
  { ...user, env, cwd: data, stdio: "inherit" },
);
server.on("exit", (code) => process.exit(code ?? 1));
process.on("SIGTERM", () => server.kill("SIGQUIT"));
setInterval(() => {
  if (!isAlive(Number(parent))) server.kill("SIGQUIT");
}, 500);

while (!(await accepts(port))) await new Promise((resolve) => setTimeout(resolve, 10));
// Whoever waits for this file must not see it half written.
writeFileSync(join(home, "url.part"), `postgres://postgres@127.0.0.1:${port}/postgres`);
renameSync(join(home, "url.part"), join(home, "url"));

/** @returns {{ uid?: number, gid?: number }} a user without rights that every Unix has */
function nobody() {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith("nobody:"));
  const [, , uid, gid] = (line ?? "nobody:x:65534:65534").split(":").map(Number);
  return { uid: uid ?? 65534, gid: gid ?? 65534 };
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

/**
 * Whether the server takes sessions: while it is starting up, it answers with an error.
 *
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function accepts(port) {
  const hello = Buffer.from("\0\0\0\0\0\x03\0\0user\0postgres\0database\0postgres\0\0", "latin1");
  hello.writeInt32BE(hello.length);
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => socket.write(hello));
    socket.on("data", (answer) => {
      socket.destroy();
      resolve(answer.toString("latin1", 0, 1) === "R");
    });
    socket.on("error", () => resolve(false));
    socket.on("end", () => resolve(false));
  });
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}
