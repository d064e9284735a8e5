// Makes and runs one throw-away server, and ends it when told to or when the run that it belongs to is gone, however that
// ended. Arguments: initdb, postgres, the server's folder, the run's process id.

import { spawn, spawnSync } from "node:child_process";
import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort, isAlive, unprivileged } from "./keeping.js";

const [, , initdb = "", postgres = "", home = "", parent = ""] = process.argv;
const data = join(home, "data");

writeFileSync(join(home, "keeper"), String(process.pid));
process.on("exit", (code) => {
  if (code !== 0) writeFileSync(join(home, "failed"), String(code));
});

const user = unprivileged();
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
writeFileSync(join(home, "url"), `postgres://postgres@127.0.0.1:${port}/postgres`);

/**
 * Whether the server speaks: to a request for encryption it answers with one letter.
 *
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function accepts(port) {
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
