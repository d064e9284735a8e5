// A request to a service that updates a row of its SQLite file (synchronous=full), from the call until the whole answer is
// there, over connections that stay open. Unguarded: fetch, and a transaction. Guarded: the kit on both sides.

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { httpDestination } from "../../../dist/destinations/http/index.js";
import { inFreshPlace } from "../place.js";
import { inTurns, newLease } from "./ways.js";

const script = fileURLToPath(new URL("./http-service.js", import.meta.url));

/** @param {import("../../cases.js").Setting} setting @param {{ inFlight: number, forMs: number }} how */
export function guardedOverHttp(setting, how) {
  return inFreshPlace({ ...setting, database: "sqlite" }, async ({ address }) => {
    const service = fork(script, [address]);
    try {
      const [{ port }] = await once(service, "message");
      const url = `http://127.0.0.1:${port}`;
      const destination = httpDestination({ url });
      const init = (/** @type {number} */ lane) => ({ method: "POST", body: JSON.stringify({ lane }) });
      const answered = async (/** @type {Response} */ response) => {
        if (!response.ok)
          throw new Error(`the service answered ${response.status}: ${await response.text()}`);
        await response.arrayBuffer();
      };
      return await inTurns(
        {
          unguarded: async (lane) => answered(await fetch(`${url}/plain`, init(lane))),
          "new line": async (lane) => answered(await destination.fetch(newLease(), "/guarded", init(lane))),
          "new line, step": async (lane) =>
            answered(await destination.fetch(newLease(), "/guarded", { ...init(lane), step: "credit" })),
        },
        how,
      );
    } finally {
      const exited = once(service, "exit");
      service.kill("SIGKILL");
      await exited;
    }
  });
}
