// Runs one pooler, and ends it when told to or when the run that it belongs to is gone, however that ended. Arguments: the
// pooler's folder, the server's connection string, how many server connections it may have, the run's process id.

import { spawn } from "node:child_process";
import { chownSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, isAlive, unprivileged } from "./keeping.js";

const [, , home = "", server = "", size = "", parent = ""] = process.argv;
const { hostname, port: serverPort, username, password } = new URL(server);
const secret = password === "" ? "" : ` password='${decodeURIComponent(password).replaceAll("'", "''")}'`;

writeFileSync(join(home, "keeper"), String(process.pid));
process.on("exit", (code) => {
  if (code !== 0) writeFileSync(join(home, "failed"), String(code));
});

const port = await freePort();
const pidFile = join(home, "pid");
const settings = {
  listen_addr: "127.0.0.1",
  listen_port: port,
  unix_socket_dir: "",
  auth_type: "any",
  pool_mode: "transaction",
  default_pool_size: size,
  max_client_conn: 500,
  pidfile: pidFile,
  server_login_retry: 1,
};
const ini = [
  "[databases]",
  `* = host=${hostname} port=${serverPort} user=${username}${secret}`,
  "[pgbouncer]",
  ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
  "",
];
writeFileSync(join(home, "pgbouncer.ini"), ini.join("\n"));

const user = unprivileged();
if (user.uid !== undefined) chownSync(home, user.uid, user.gid ?? user.uid);
const pooler = spawn("pgbouncer", [join(home, "pgbouncer.ini")], { ...user, cwd: home, stdio: "inherit" });
pooler.on("error", () => process.exit(1));
pooler.on("exit", (code) => process.exit(code ?? 1));
process.on("SIGTERM", () => pooler.kill("SIGTERM"));
setInterval(() => {
  if (!isAlive(Number(parent))) pooler.kill("SIGTERM");
}, 500);

// It writes that file when its ports are open.
while (!existsSync(pidFile) || readFileSync(pidFile, "utf8") === "") {
  await new Promise((resolve) => setTimeout(resolve, 10));
}
const url = new URL(server);
url.port = String(port);
// Whole or not at all: whoever waits for it reads it at once.
writeFileSync(join(home, "url.new"), url.href);
renameSync(join(home, "url.new"), join(home, "url"));
