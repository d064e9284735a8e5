// Makes one effect as generation 1, and tells when it is inside the body, or after the answer; then waits to be killed.

import { postgresGuard } from "../../dist/destinations/postgres/index.js";
import { sqliteGuard } from "../../dist/destinations/sqlite/index.js";
import { openDatabase } from "../../dist/stores/sqlite/index.js";

const [kind, address = "", schema = "", where, timeoutMs = "10000"] = process.argv.slice(2);
const table = kind === "postgres" ? `${schema}.effect` : "effect";
const guard =
  kind === "postgres"
    ? postgresGuard({ connectionString: address, schema, timeoutMs: Number(timeoutMs) })
    : sqliteGuard({ database: await openDatabase(address) });

/** @type {import("../../dist/protocol/identity.js").JobId} */
const id = /** @type {never} */ ("0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11");
/** @type {import("../../dist/destinations/destination.js").EffectLease} */
const lease = {
  token: /** @type {never} */ ({ line: `job:${id}`, generation: 1, owner: "a" }),
  effectScope: `job:${id}/1`,
};

await guard.write(lease, { step: "s" }, async (/** @type {import("./guard-cases.js").Tx} */ tx) => {
  await tx.query(`insert into ${table} (value) values ($1)`, ["by the child"]);
  if (where === "inside") {
    process.send?.({ what: "inside" });
    // A SQLite body never outlives its turn, so there the process ends itself in the middle.
    if (kind === "sqlite") process.kill(process.pid, "SIGKILL");
    await new Promise(() => setInterval(() => {}, 1_000));
  }
  return { written: "by the child" };
});
process.send?.({ what: "after" });
setInterval(() => {}, 1_000);
