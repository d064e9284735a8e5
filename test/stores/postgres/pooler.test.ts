import pg from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { Leasehold } from "../../../src/client/leasehold.ts";
import type { Store } from "../../../src/stores/store.ts";
import { optional } from "../../support/optional.ts";
import { missingPooler, pgbouncer } from "../../support/pgbouncer.ts";
import { type PostgresWorld, postgresWorld } from "../../support/postgres-harness.ts";
import { CALL, claimAll, ids, newJob, storeOn, timers } from "./world.ts";

/** How many server connections the pooler of these tests has: few enough to look at all of them at once. */
const FEW = 3;

async function pooledWorld(): Promise<PostgresWorld> {
  const world = await postgresWorld(18, { pooler: FEW });
  onTestFinished(() => world.close());
  return world;
}

/** The warnings of this process with that code, as they come. */
function warnings(code: string): string[] {
  const heard: string[] = [];
  const hear = (warning: Error & { code?: string }): void => {
    if (warning.code === code) heard.push(warning.message);
  };
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  return heard;
}

/** Sleeps as a worker does; says whether it was woken. */
function sleeper(store: Store): { isWoken: boolean; close(): void } {
  const told = { isWoken: false, close: () => listener.close() };
  const listener = store.listen(() => {
    told.isWoken = true;
  });
  onTestFinished(() => listener.close());
  listener.arm();
  return told;
}

/** What the server processes behind the pooler listen to: all of them are held at once, so that none is missed. */
async function listenedTo(url: string): Promise<unknown[]> {
  const clients = await Promise.all(
    Array.from({ length: FEW }, async () => {
      const client = new pg.Client({ connectionString: url });
      onTestFinished(() => client.end());
      await client.connect();
      await client.query("begin");
      return client;
    }),
  );
  const answers = await Promise.all(
    clients.map((client) => client.query("select pg_backend_pid() as pid, pg_listening_channels() as name")),
  );
  return answers.flatMap(({ rows }) => rows);
}

optional("behind PgBouncer in transaction mode", missingPooler(18), () => {
  describe("a store whose address leads through the pooler", () => {
    it("says once that wake-ups do not arrive, does not listen there, and finds jobs by polling", async () => {
      const world = await pooledWorld();
      const heard = warnings("LEASEHOLD_NO_NOTIFICATIONS");
      const store = storeOn(world);
      const first = sleeper(store);
      while (heard.length === 0) await timers.sleep(10);
      first.close();
      const leasehold = new Leasehold({ store, log: () => {} });
      onTestFinished(() => leasehold.close());
      const job = defineJob({ name: "job", queue: "queue", run: () => "found" });
      leasehold.work([job], { pollMs: 20, renewer: "inline" });
      const elsewhere = new Leasehold({ store: world.store, log: () => {} });
      expect(await elsewhere.result(await elsewhere.enqueue(job, null))).toBe("found");
      sleeper(store);
      expect(await listenedTo(world.url)).toEqual([]);
      expect(heard).toEqual([expect.stringMatching(/polling alone.*give `listen` the server's own address/)]);
    });

    it("hears of jobs over `listen: …`, the server's own address", async () => {
      const world = await pooledWorld();
      const heard = warnings("LEASEHOLD_NO_NOTIFICATIONS");
      const store = storeOn(world, { listen: world.direct });
      const told = sleeper(store);
      while (!told.isWoken) {
        await world.store.enqueue([newJob()], CALL);
        await timers.sleep(10);
      }
      expect(heard).toEqual([]);
    });

    it("enqueues in a caller's transaction that goes through the pooler as well", async () => {
      const world = await pooledWorld();
      await world.store.enqueue([newJob({ due: { delayMs: 60_000 } })], CALL); // who makes a queue locks its name
      const kept = await world.begin();
      const dropped = await world.begin();
      const job = newJob();
      await world.store.enqueue([job], { ...CALL, tx: kept.tx });
      await world.store.enqueue([newJob()], { ...CALL, tx: dropped.tx });
      await dropped.rollback();
      expect(await claimAll(world.store, ids.owner())).toEqual([]);
      await kept.commit();
      expect(await claimAll(world.store, ids.owner())).toMatchObject([{ jobId: job.jobId }]);
    });
  });

  describe("a store that listens through the pooler but writes past it", () => {
    it("finds by its own test that nothing arrives, says so once, and goes on by polling", async () => {
      const world = await pooledWorld();
      const heard = warnings("LEASEHOLD_NO_NOTIFICATIONS");
      const listen = await pgbouncer(18, 20, inject("servers"));
      const store = storeOn(world, { connectionString: world.direct, listen });
      sleeper(store);
      while (heard.length === 0) await timers.sleep(20);
      sleeper(store);
      await store.enqueue([newJob()], CALL);
      expect(await claimAll(store, ids.owner())).toHaveLength(1);
      expect(heard).toHaveLength(1);
    });
  });
});
