// Makes and runs one throw-away server, and ends it when told to or when the run that it belongs to is gone, however that
// ended. Arguments: initdb, postgres, the server's folder, the run's process id.

import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  accepts,
  asArguments,
  freePort,
  isAlive,
  makeServer,
  SERVER_ENV,
  serverUser,
} from "./postgres-process.js";

const [, , initdb = "", postgres = "", home = "", parent = ""] = process.argv;
const data = join(home, "data");

writeFileSync(join(home, "keeper"), String(process.pid));
process.on("exit", (code) => {
  if (code !== 0) writeFileSync(join(home, "failed"), String(code));
});

if (!makeServer(initdb, data)) process.exit(1);

const port = (await freePort()) ?? 0;
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
const server = spawn(postgres, ["-D", data, ...asArguments(settings)], {
  ...serverUser(),
  env: SERVER_ENV,
  cwd: data,
  stdio: "inherit",
});
server.on("exit", (code) => process.exit(code ?? 1));
process.on("SIGTERM", () => server.kill("SIGQUIT"));
setInterval(() => {
  if (!isAlive(Number(parent))) server.kill("SIGQUIT");
}, 500);

while (!(await accepts(port))) await new Promise((resolve) => setTimeout(resolve, 10));
// Whoever sees the file must find the whole address in it.
writeFileSync(join(home, "url.new"), `postgres://postgres@127.0.0.1:${port}/postgres`);
renameSync(join(home, "url.new"), join(home, "url"));
