// node examples/late-writes/http.js: the late write would go to an HTTP service, which is guarded by the database that its
// data is in. `httpDestination` is what a worker has of it, `httpGuard` what the service has.

import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { httpDestination, httpGuard, nodeHandler } from "leasehold/destinations/http";
import { openDatabase } from "leasehold/sqlite";
import { tell } from "./story.js";

await tell({
  async serve(folder) {
    const database = await openDatabase(join(folder, "service.db"));
    database.exec("create table note (text text)");
    const guarded = httpGuard({ database });
    const server = createServer(
      nodeHandler((request) => {
        if (request.method === "GET") return Response.json(database.prepare("select text from note").all());
        return guarded(request, async (asked, tx) => {
          await tx.query("insert into note values ($1)", [await asked.text()]);
          return new Response(null, { status: 201 });
        });
      }),
    ).listen(0, "localhost");
    await once(server, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
    const close = () => {
      server.closeAllConnections();
      server.close();
      database.close();
    };
    return { address: `http://localhost:${port}/notes`, close };
  },

  async open({ address }) {
    const notes = httpDestination({ url: address });
    return {
      async write(lease, by) {
        const body = `written by ${by}`;
        const { ok, status } = await notes.fetch(lease, "", { step: "note", method: "POST", body });
        if (!ok) throw new Error(`The service answered ${status}.`);
      },
      async read() {
        const rows = /** @type {{ text: string }[]} */ (await (await fetch(address)).json());
        return rows.map(({ text }) => text).join(", ");
      },
      close() {},
    };
  },
});
