// Makes and runs one throw-away server, and ends it when told to or when the run that it belongs to is gone, however that
// ended. Arguments: initdb, postgres, the server's folder, the run's process id, and `durable` for a server as users have it.

import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, isAlive, unprivileged } from "./keeping.js";
import { asArguments, isReady, makeServer, SERVER_ENV } from "./postgres-process.js";

const [, , initdb = "", postgres = "", home = "", parent = "", kind] = process.argv;
const data = join(home, "data");

writeFileSync(join(home, "keeper"), String(process.pid));
process.on("exit", (code) => {
  if (code !== 0) writeFileSync(join(home, "failed"), String(code));
});

if (!makeServer(initdb, data)) process.exit(1);

const port = (await freePort()) ?? 0;
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
const server = spawn(postgres, ["-D", data, ...asArguments(settings)], {
  ...unprivileged(),
  env: SERVER_ENV,
  cwd: data,
  stdio: "inherit",
});
server.on("exit", (code) => process.exit(code ?? 1));
process.on("SIGTERM", () => server.kill("SIGQUIT"));
setInterval(() => {
  if (!isAlive(Number(parent))) server.kill("SIGQUIT");
}, 500);

while (!isReady(data)) await new Promise((resolve) => setTimeout(resolve, 10));
// Whoever sees the file must find the whole address in it.
writeFileSync(join(home, "url.new"), `postgres://postgres@127.0.0.1:${port}/postgres`);
renameSync(join(home, "url.new"), join(home, "url"));
