// A row updated in a transaction of its own, from asking the pool for a connection until the commit is answered.
// Unguarded: begin, update, commit. Guarded: by the kit, which admits the token in the same transaction.

import pg from "pg";
import { postgresGuard } from "../../../dist/destinations/postgres/index.js";
import { inFreshPlace } from "../place.js";
import { inTurns, knownLeases, newLease } from "./ways.js";

/** @param {import("../../cases.js").Setting} setting @param {{ inFlight: number, forMs: number }} how */
export function guardedOnPostgres(setting, how) {
  return inFreshPlace(setting, async ({ address, schema }) => {
    const pool = new pg.Pool({ connectionString: address, max: how.inFlight });
    const guard = postgresGuard({ pool, schema });
    try {
      await guard.migrate();
      await pool.query(`create table ${schema}.account (id integer primary key, cents bigint not null)`);
      await pool.query(`insert into ${schema}.account select n, 0 from generate_series(0, 999) n`);
      const update = `update ${schema}.account set cents = cents + $1 where id = $2`;
      const guarded = (lease, lane, step = {}) =>
        guard.write(lease, step, async (tx) => {
          await tx.query(update, [1, lane]);
          return null;
        });
      const leases = knownLeases(how.inFlight);
      return await inTurns(
        {
          async unguarded(lane) {
            const client = await pool.connect();
            await client.query("begin");
            await client.query(update, [1, lane]);
            await client.query("commit");
            client.release();
          },
          "known line": (lane) => guarded(leases[lane], lane),
          "new line": (lane) => guarded(newLease(), lane),
          "new line, step": (lane) => guarded(newLease(), lane, { step: "credit", request: [lane, 1] }),
        },
        how,
      );
    } finally {
      await guard.close();
      await pool.end();
    }
  });
}
