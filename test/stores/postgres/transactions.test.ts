/** Whose transaction is open, and for how long. */

import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { InvalidTransactionError } from "../../../src/errors.ts";
import { defineJob, Leasehold } from "../../../src/index.ts";
import { optional } from "../../support/optional.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { CALL, newJob, storeOn, timers, worldOf } from "./world.ts";

async function clientOf(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

optional("transactions on PostgreSQL 18", missingPostgres(18), () => {
  describe("{ tx }", () => {
    it("is refused when no transaction is open, however its client sends statements", async () => {
      const world = await worldOf(18);
      const client = await clientOf(world.url);
      const pool = new pg.Pool({ connectionString: world.url, max: 2 });
      onTestFinished(() => pool.end());
      // With a name and with bound parameters, each message of one statement has a time of its own on the server.
      const named = {
        query: (text: string, values: unknown[]) => client.query({ name: text.slice(0, 40), text, values }),
      };
      const bound = {
        query: (text: string, values: unknown[]) =>
          client.query({ text, values, queryMode: "extended" } as never),
      };
      const job = newJob();
      for (const tx of [client, named, bound, pool]) {
        const enqueueing = world.store.enqueue([job], { ...CALL, tx });
        await expect(enqueueing).rejects.toThrow(/no open transaction/);
        await expect(enqueueing).rejects.toThrow(InvalidTransactionError);
      }
      expect(await world.store.get([job.jobId], CALL)).toEqual([undefined]);
      await client.query("begin");
      expect(await world.store.enqueue([job], { ...CALL, tx: named })).toMatchObject([
        { outcome: "enqueued" },
      ]);
      await client.query("rollback");
    });

    it("is refused when its transaction has failed, or when it answers no { rows }", async () => {
      const world = await worldOf(18);
      const client = await clientOf(world.url);
      await client.query("begin");
      const wrongAnswer = { query: async (text: string) => (await client.query(text)).rows };
      const enqueue = (tx: unknown) => world.store.enqueue([newJob()], { ...CALL, tx });
      await expect(enqueue(wrongAnswer)).rejects.toThrow(/does not resolve to \{ rows \}/);
      await client.query("select 1 / 0").catch(() => {});
      await expect(enqueue(client)).rejects.toThrow(/tx cannot be used/);
      await expect(enqueue({ run() {} })).rejects.toThrow(/Wrap what you use in \{ query \}/);
    });
  });

  describe("a handler", () => {
    it("holds no transaction open while it works: only job.complete has one", async () => {
      const world = await worldOf(18);
      const address = new URL(world.url);
      address.searchParams.set("application_name", world.schema);
      const leasehold = new Leasehold({ store: storeOn({ ...world, url: address.href }) });
      onTestFinished(() => leasehold.close());

      const openSince = async (before: unknown): Promise<number> => {
        const [found] = await world.query(
          `select count(*)::integer as count from pg_stat_activity
            where application_name = $1 and state like 'idle in transaction%' and xact_start <= $2`,
          [world.schema, before],
        );
        return found?.["count"] as number;
      };
      const now = async () => (await world.query("select clock_timestamp() as now"))[0]?.["now"];

      let running = 0;
      let working = (): void => {};
      const allWork = new Promise<void>((resolve) => {
        working = resolve;
      });
      let goOn = (): void => {};
      const mayGoOn = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const seenInBody: number[] = [];
      const job = defineJob({
        name: "working",
        async run({ job }) {
          running += 1;
          if (running === 3) working();
          await mayGoOn;
          await job.complete(async (tx) => {
            await tx.query("select 1");
            seenInBody.push(await openSince(await now()));
          });
        },
      });
      await leasehold.enqueueMany([1, 2, 3].map(() => ({ job, input: undefined })));
      const worker = leasehold.work([job], { renewer: "inline" });
      onTestFinished(() => worker.stop());
      await allWork;
      // What began before all of them worked ends although they go on working: it was a claim, and no handler's.
      const before = await now();
      while ((await openSince(before)) > 0) await timers.sleep(5);
      goOn();
      await worker.stop();
      expect(seenInBody).toHaveLength(3);
      expect(Math.min(...seenInBody)).toBeGreaterThan(0);
    });
  });
});
