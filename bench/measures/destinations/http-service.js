// The service behind http.js, in a process of its own: the same update of a SQLite file behind /plain and /guarded.

import { createServer } from "node:http";
import { httpGuard, nodeHandler } from "../../../dist/destinations/http/index.js";
import { sqliteGuard } from "../../../dist/destinations/sqlite/index.js";
import { loadDriver } from "../../../dist/stores/sqlite/driver.js";
import { ACCOUNTS, CREDIT } from "./sqlite.js";

const { Database } = await loadDriver();
const database = new Database(process.argv[2] ?? "");
database.exec(ACCOUNTS);
const statement = database.prepare(CREDIT);
const guarded = httpGuard({ guard: sqliteGuard(database) });

/** @param {Request} request */
async function credit(request) {
  const { lane } = await request.json();
  return () => {
    statement.run({ $1: 1, $2: lane });
    return Response.json({ lane });
  };
}

const handler = nodeHandler(async (request) => {
  // The body is in memory under the guard, and its handler must not await anything but the transaction.
  if (new URL(request.url).pathname === "/guarded") {
    const make = await credit(request.clone());
    return guarded(request, () => make());
  }
  const make = await credit(request);
  database.exec("begin immediate");
  const response = make();
  database.exec("commit");
  return response;
});
const server = createServer(handler);
server.listen(0, "127.0.0.1", () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  process.send?.({ port });
});
process.on("disconnect", () => process.exit());
