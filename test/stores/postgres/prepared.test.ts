import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Fence, JobId } from "../../../src/protocol/identity.ts";
import type { Store, Tx } from "../../../src/stores/store.ts";
import { optional } from "../../support/optional.ts";
import { missingPostgres, POSTGRES_VERSIONS } from "../../support/postgres-server.ts";
import { CALL, claimAll, ids, newJob, storeOn, worldOf } from "./world.ts";

/** One connection, so that what is done to it is met by the store's next call. */
function poolOf(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  onTestFinished(() => pool.end());
  return pool;
}

const PREPARED = "select name from pg_prepared_statements where name like 'leasehold\\_%'";

for (const version of POSTGRES_VERSIONS) {
  optional(`prepared statements on PostgreSQL ${version}`, missingPostgres(version), () => {
    describe("a connection that leads to one server process", () => {
      it("prepares a statement once, and uses it again", async () => {
        const world = await worldOf(version);
        const pool = poolOf(world.url);
        const store = storeOn(world, { pool, listen: false });
        const owner = ids.owner();
        for (let round = 0; round < 3; round++) {
          await store.enqueue([newJob()], CALL);
          const [fence] = await claimAll(store, owner);
          await store.settle([{ operation: "complete", fence: fence as Fence, result: null }], CALL);
        }
        const { rows } = await pool.query(
          `select (generic_plans + custom_plans)::integer as uses from pg_prepared_statements
            where name like 'leasehold\\_%' and statement like '%completed as (%delete from%'`,
        );
        expect(rows).toEqual([{ uses: 3 }]);
      });

      it("keeps their plans where the store made the connection, and leaves a caller's as it is", async () => {
        const world = await worldOf(version);
        const modes = async (store: Store): Promise<string> => {
          await store.enqueue([newJob()], CALL);
          const [fence] = await claimAll(store, ids.owner());
          let mode = "";
          const settings = async (tx: Tx): Promise<null> => {
            const { rows } = await tx.query<{ plan_cache_mode: string }>("show plan_cache_mode");
            mode = rows[0]?.plan_cache_mode ?? "";
            return null;
          };
          await store.completeWith(fence as Fence, settings, CALL);
          return mode;
        };
        expect(await modes(storeOn(world))).toBe("force_generic_plan");
        expect(await modes(storeOn(world, { pool: poolOf(world.url) }))).toBe("auto");
      });

      it("loses them to other code, and the calls go on without", async () => {
        const world = await worldOf(version);
        const pool = poolOf(world.url);
        const store = storeOn(world, { pool, listen: false });
        await store.enqueue([newJob(), newJob()], CALL);
        const owner = ids.owner();
        expect(await claimAll(store, owner, 1)).toHaveLength(1);
        await pool.query("discard all");
        const [second, ...none] = await claimAll(store, owner, 1);
        expect([second?.generation, none]).toEqual([1, []]);
        await pool.query("discard all");
        // In a transaction too, which is made again as a whole.
        const [cancelled] = await store.cancel([second?.jobId as JobId], CALL);
        expect(cancelled?.outcome).toBe("applied");
        expect((await pool.query(PREPARED)).rows).toEqual([]);
      });

      it("makes them anew when the tables behind them have changed", async () => {
        const world = await worldOf(version);
        const store = storeOn(world, { pool: poolOf(world.url), listen: false });
        await store.enqueue([newJob()], CALL);
        const [before] = await store.list({}, { limit: 10 }, CALL).then(({ jobs }) => jobs);
        await world.query(
          `alter table ${world.schema}.queue alter column name type varchar(999) collate "C"`,
        );
        onTestFinished(async () => {
          await world.query(`alter table ${world.schema}.queue alter column name type text collate "C"`);
        });
        expect(await store.get([before?.jobId as JobId], CALL)).toEqual([before]);
        expect(await claimAll(store, ids.owner())).toHaveLength(1);
      });
    });
  });
}
