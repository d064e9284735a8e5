// Makes and runs one throw-away server, and ends it when told to or when the run that it belongs to is gone, however that
// ended. Arguments: initdb, postgres, the server's folder, the run's process id, and `durable` for a server as users have it.

import { spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, isAlive, unprivileged } from "./keeping.js";

const [, , initdb = "", postgres = "", home = "", parent = "", kind] = process.argv;
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
// Durability is not what most tests are about.
const durability = kind === "durable" ? "on" : "off";
const settings = {
  listen_addresses: "127.0.0.1",
  port,
  unix_socket_directories: "",
  fsync: durability,
  full_page_writes: durability,
  synchronous_commit: durability,
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

while (!isReady()) await new Promise((resolve) => setTimeout(resolve, 10));
writeFileSync(join(home, "url"), `postgres://postgres@127.0.0.1:${port}/postgres`);

/** The server says so in the eighth line of that file; before, it speaks already but lets nobody in. */
function isReady() {
  const file = join(data, "postmaster.pid");
  return existsSync(file) && readFileSync(file, "utf8").split("\n")[7]?.trim() === "ready";
}
