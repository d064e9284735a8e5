import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { sleepBy } from "../../../src/clock/sleep.ts";
import { systemWorld } from "../../../src/clock/system.ts";
import { InvalidArgumentError, StoreUnusableError, UnknownOutcomeError } from "../../../src/errors.ts";
import { postgres } from "../../../src/stores/postgres/index.ts";
import type { Store } from "../../../src/stores/store.ts";
import { optional } from "../../support/optional.ts";
import type { PostgresWorld } from "../../support/postgres-harness.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { CALL, claimAll, ids, newJob, storeOn, timers, wokenBy, worldOf } from "./world.ts";

/** A store whose connections carry the name of its world: other tests use the server at the same time. */
function namedStoreOn(world: PostgresWorld): Store {
  const address = new URL(world.url);
  address.searchParams.set("application_name", world.schema);
  return storeOn(world, { connectionString: address.href });
}

/** Ends every server process that serves such a store, as a restart of the server would. */
async function killConnections({ query, schema }: PostgresWorld, where: string): Promise<number> {
  const rows = await query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and ${where}`,
    [schema],
  );
  return rows.length;
}

optional("connections to PostgreSQL 18", missingPostgres(18), () => {
  describe("a store", () => {
    it("goes on after all its connections were ended, idle ones and the listening one", async () => {
      const world = await worldOf(18);
      const [here, there] = [namedStoreOn(world), namedStoreOn(world)];
      await here.open();
      await wokenBy(here, () => there.enqueue([newJob()], CALL));
      expect(await killConnections(world, "true")).toBeGreaterThan(1);
      await timers.sleep(50);
      await here.enqueue([newJob()], CALL);
      expect((await claimAll(here, ids.owner())).length).toBeGreaterThan(1);
      await wokenBy(here, () => there.enqueue([newJob()], CALL));
    });

    it("tells an unknown outcome when its connection ends during a write, and never ends the process", async () => {
      const world = await worldOf(18);
      const store = namedStoreOn(world);
      await store.enqueue([newJob({ unique: { key: "k", onConflict: "keep" } })], CALL);
      const caller = await world.begin();
      const tx = caller.tx as { query(text: string): Promise<unknown> };
      await tx.query(`lock table ${world.schema}.job in exclusive mode`);
      const waiting = store.enqueue([newJob()], CALL);
      const told = expect(waiting).rejects.toThrow(UnknownOutcomeError);
      while ((await killConnections(world, "wait_event_type = 'Lock'")) === 0) await timers.sleep(5);
      await told;
      await caller.rollback();
      expect(await store.enqueue([newJob()], CALL)).toMatchObject([{ outcome: "enqueued" }]);
    });

    it("leaves no timer behind when it is closed, which would keep its process alive", async () => {
      const world = await worldOf(18);
      const pending = new Set<object>();
      const system = systemWorld();
      const after: typeof timers.after = (delayMs, fn, options) => {
        const key = {};
        pending.add(key);
        const timer = system.timers.after(
          delayMs,
          () => {
            pending.delete(key);
            fn();
          },
          options,
        );
        return {
          cancel() {
            pending.delete(key);
            timer.cancel();
          },
        };
      };
      const counted = { ...system, timers: { ...system.timers, after, sleep: sleepBy(after) } };
      const store = storeOn(world, { world: counted, listen: false });
      await store.open();
      await store.close();
      expect(pending.size).toBe(0);
    });

    it("uses the caller's own pool, and leaves it open", async () => {
      const world = await worldOf(18);
      const pool = new pg.Pool({ connectionString: world.url, max: 2 });
      onTestFinished(() => pool.end());
      const store = postgres({ pool, schema: world.schema });
      expect(store.renewalThread).toBeUndefined();
      await store.enqueue([newJob()], CALL);
      const client = await pool.connect();
      await client.query("begin");
      await store.enqueue([newJob()], { ...CALL, tx: client });
      await client.query("commit");
      client.release();
      expect(await claimAll(store, ids.owner())).toHaveLength(2);
      await wokenBy(store, () => world.store.enqueue([newJob()], CALL));
      await store.close();
      expect((await pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    });

    it("takes the answer that came while its process was stopped beyond the deadline", async () => {
      const world = await worldOf(18);
      const store = storeOn(world);
      await store.nowMs(CALL); // there is a connection now, and it is idle
      const deadlineMs = performance.now() + 1_000;
      const asking = store.nowMs({ timeoutMs: 1_000 });
      const told = expect(asking).resolves.toBeGreaterThan(0);
      for (let n = 0; n < 3; n += 1) await new Promise<void>((resolve) => timers.nextTurn(resolve));
      // It is sent; nothing of this process runs until well after its deadline.
      while (performance.now() < deadlineMs + 50);
      await told;
    });

    it("leaves no timer behind that would keep the process alive when it has closed", async () => {
      const world = await worldOf(18);
      const system = systemWorld();
      const waiting = new Set<number>();
      const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
        waiting.add(ms);
        await system.timers.sleep(ms, signal);
        waiting.delete(ms);
      };
      const store = storeOn(world, { world: { ...system, timers: { ...system.timers, sleep } } });
      await store.nowMs(CALL);
      await store.close();
      await new Promise<void>((resolve) => timers.nextTurn(resolve));
      expect([...waiting]).toEqual([]);
    });

    it("does not care what the caller has taught pg about types", async () => {
      const world = await worldOf(18);
      const types = { getTypeParser: () => () => "nonsense" };
      const pool = new pg.Pool({ connectionString: world.url, max: 2, types: types as never });
      onTestFinished(() => pool.end());
      const store = postgres({ pool, schema: world.schema });
      onTestFinished(() => store.close());
      const job = newJob();
      await store.enqueue([job], CALL);
      expect(await claimAll(store, ids.owner())).toMatchObject([{ jobId: job.jobId, generation: 1 }]);
    });

    it("works for a user that owns nothing but its schema", async () => {
      const world = await worldOf(18);
      const role = `role_${world.schema}`;
      const schema = `${world.schema}_own`;
      await world.query(`create role ${role} login`);
      await world.query(`create schema ${schema} authorization ${role}`);
      onTestFinished(async () => {
        await world.query(`drop schema ${schema} cascade`);
        await world.query(`drop role ${role}`);
      });
      const address = new URL(world.url);
      address.username = role;
      const store = postgres({ connectionString: address.href, schema });
      await store.enqueue([newJob()], CALL);
      const [fence] = await claimAll(store, ids.owner());
      if (fence === undefined) throw new Error("a job was enqueued");
      expect(await store.renew([fence], CALL)).toMatchObject([{ outcome: "applied" }]);
      expect(await store.raiseFloor(CALL)).toHaveProperty("epoch");
      await store.close();
    });

    it("says what is wrong with its address, and never repeats a password", async () => {
      const world = await worldOf(18);
      const address = new URL(world.url);
      address.password = "secret";
      address.pathname = "/nowhere";
      const store = postgres({ connectionString: address.href });
      onTestFinished(() => store.close());
      expect(store.description).not.toContain("secret");
      await expect(store.open()).rejects.toThrow(StoreUnusableError);
      await expect(store.open()).rejects.toThrow(/"nowhere" does not exist/);
      expect(() => postgres({} as never)).toThrow(InvalidArgumentError);
      expect(() => postgres({ connectionString: world.url, schema: 'x"; drop' })).toThrow(/letters, digits/);
    });
  });

  describe("another server than the one that gave out the leases", () => {
    it("makes the first claim raise the floor, and leases from before are refused", async () => {
      const world = await worldOf(18);
      const { store, schema, query } = world;
      await store.enqueue([newJob(), newJob()], CALL);
      const [before] = await claimAll(store, ids.owner(), 1);
      if (before === undefined) throw new Error("jobs were enqueued");
      await query(`update ${schema}.store set system_id = system_id + 1`);
      const [after] = await claimAll(store, ids.owner(), 1);
      expect(after?.generation).toBeGreaterThan(2 ** 32);
      expect(await store.renew([before], CALL)).toMatchObject([{ outcome: "stale", reason: "history" }]);
    });

    it("or a higher timeline lifts every generation from its first statement on", async () => {
      const world = await worldOf(18);
      const { store, schema, query } = world;
      await store.enqueue([newJob(), newJob()], CALL);
      const [before] = await claimAll(store, ids.owner(), 1);
      if (before === undefined) throw new Error("jobs were enqueued");
      // As a promoted standby sees it: one timeline later than the row says.
      await query(`update ${schema}.store set timeline = timeline - 1`);
      expect(await store.renew([before], CALL)).toMatchObject([{ outcome: "stale", reason: "history" }]);
      const [after] = await claimAll(store, ids.owner(), 1);
      expect(after?.generation).toBe(2 ** 32 + 1);
      expect(await query(`select epoch::integer from ${schema}.store`)).toEqual([{ epoch: 1 }]);
    });
  });
});
