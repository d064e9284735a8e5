// A row updated in a transaction of its own on the application's handle, with synchronous=full on both sides: the kit never
// commits a mark with less. Unguarded: begin immediate, update, commit, one after the other whoever calls.

import { sqliteGuard } from "../../../dist/destinations/sqlite/index.js";
import { loadDriver } from "../../../dist/stores/sqlite/driver.js";
import { inFreshPlace } from "../place.js";
import { inTurns, knownLeases, newLease } from "./ways.js";

export const ACCOUNTS = `pragma journal_mode = wal; pragma synchronous = full;
  create table if not exists account (id integer primary key, cents integer not null) strict;
  with recursive n (id) as (select 0 union all select id + 1 from n where id < 999)
  insert or ignore into account select id, 0 from n`;
export const CREDIT = "update account set cents = cents + $1 where id = $2";

/** @param {import("../../cases.js").Setting} setting @param {{ inFlight: number, forMs: number }} how */
export function guardedOnSqlite(setting, how) {
  return inFreshPlace(setting, async ({ address }) => {
    const { Database } = await loadDriver();
    const database = new Database(address);
    try {
      database.exec(ACCOUNTS);
      const guard = sqliteGuard(database);
      const statement = database.prepare(CREDIT);
      const guarded = (lease, lane, step = {}) =>
        guard.write(lease, step, () => {
          statement.run({ $1: 1, $2: lane });
          return null;
        });
      const leases = knownLeases(how.inFlight);
      return await inTurns(
        {
          async unguarded(lane) {
            database.exec("begin immediate");
            statement.run({ $1: 1, $2: lane });
            database.exec("commit");
          },
          "known line": (lane) => guarded(leases[lane], lane),
          "new line": (lane) => guarded(newLease(), lane),
          "new line, step": (lane) => guarded(newLease(), lane, { step: "credit", request: [lane, 1] }),
        },
        how,
      );
    } finally {
      database.close();
    }
  });
}
