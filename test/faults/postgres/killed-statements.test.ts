import { defineJob } from "leasehold";
import { describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import type { Backend } from "../../support/postgres-backends.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { running } from "../../support/postgres-statements.ts";
import { gate } from "../../worker/world.ts";
import { NEVER_POLLS_MS, quick, stillWakes } from "./wake-ups.ts";
import { type FaultWorld, faultWorld } from "./world.ts";

optional("connections to PostgreSQL 18 that are killed at work", missingPostgres(18), () => {
  describe("in the middle of a statement", () => {
    /** Behind a lock of the whole table: nothing of a worker's waits for a row. */
    const waitingIn =
      ({ schema }: FaultWorld, ...statements: readonly string[]) =>
      (one: Backend): boolean =>
        one.isWaitingForLock && running(schema, ...statements)(one);

    it("C11 of a claim cost no job", async () => {
      const world = await faultWorld();
      const { jobId } = await world.bystander.enqueue(quick);
      const table = await world.holding(`lock table ${world.schema}.job in exclusive mode`);
      const worker = world.client().work([quick], { pollMs: NEVER_POLLS_MS });
      const claiming = waitingIn(world, "sweep jobs", "promote due", "claim", "claim ready");
      await world.backends.kill("the waiting claim", claiming);
      const sleeps = new Promise<void>((resolve) => worker.on("idle", () => resolve()));
      await table.release();
      expect(await world.ended(jobId)).toMatchObject({ result: 1, attempt: 1 });
      await sleeps;
      await stillWakes(world);
    });

    it("C11 of a renewal leave the run its lease", async () => {
      const world = await faultWorld();
      const [begun, end] = [gate(), gate()];
      const long = defineJob({
        name: "long",
        leaseMs: 3_000,
        async run({ lease }) {
          begun.open();
          await end.promise;
          return lease.state;
        },
      });
      const { jobId } = await world.bystander.enqueue(long);
      const worker = world.client().work([long, quick], { pollMs: NEVER_POLLS_MS });
      await begun.promise;
      const table = await world.holding(`lock table ${world.schema}.job in exclusive mode`);
      await world.backends.kill("the waiting renewal", waitingIn(world, "renew"));
      await table.release();
      await world.renewedBeyond((await world.row(jobId)).leaseUntilMs, jobId);
      await stillWakes(world);
      end.open();
      expect(await world.ended(jobId)).toMatchObject({ result: "held", generation: 1, attempt: 1 });
      await worker.stop();
      expect(worker.counts).toMatchObject({ completed: 2, lost: 0 });
    });

    it("C11 of a completion leave the job ended once", async () => {
      const world = await faultWorld();
      const [begun, end] = [gate(), gate()];
      let runs = 0;
      const job = defineJob({
        name: "job",
        async run() {
          begun.open();
          await end.promise;
          return ++runs;
        },
      });
      const { jobId } = await world.bystander.enqueue(job);
      const worker = world.client().work([job, quick], { pollMs: NEVER_POLLS_MS });
      await begun.promise;
      const table = await world.holding(`lock table ${world.schema}.job in exclusive mode`);
      end.open();
      await world.backends.kill("the waiting completion", waitingIn(world, "complete plain", "complete"));
      await table.release();
      expect(await world.ended(jobId)).toMatchObject({ result: 1, generation: 1, attempt: 1 });
      await stillWakes(world);
      await worker.stop();
      expect([runs, worker.counts]).toMatchObject([1, { completed: 2, lost: 0 }]);
    });
  });

  describe("in the transaction of job.complete", () => {
    /** Writes one row under a key of its own each time that its body runs. */
    const writing = (
      world: FaultWorld,
      until: { readonly before?: Promise<void>; inBody?(): Promise<void> },
    ) => {
      let bodies = 0;
      return defineJob({
        name: "writing",
        async run({ job }) {
          await until.before;
          await job.complete(async (tx) => {
            const key = `body ${++bodies}`;
            await tx.query(`insert into ${world.schema}.note values ($1, '')`, [key]);
            await until.inBody?.();
            await tx.query("select 1");
            return key;
          });
        },
      });
    };
    const notes = ({ query, schema }: FaultWorld) => query(`select key as result from ${schema}.note`);

    it("C10 waiting for the row, are tried again and complete the job with its writes once the row is free", async () => {
      const world = await faultWorld();
      const claimed = gate();
      const job = writing(world, { before: claimed.promise });
      const { jobId } = await world.bystander.enqueue(job);
      const worker = world.client().work([job, quick], { pollMs: NEVER_POLLS_MS });
      await eventually("the claim", async () => (await world.row(jobId)).generation === 1);
      const row = await world.holdingRow(jobId);
      claimed.open();
      const waiting = (one: Backend): boolean =>
        one.isWaitingForLock && running(world.schema, "lock job")(one);
      await world.backends.kill("the waiting transaction", waiting);
      await row.release();
      expect(await world.ended(jobId)).toMatchObject({ result: "body 1", generation: 1, attempt: 1 });
      expect(await notes(world)).toEqual([{ result: "body 1" }]);
      await stillWakes(world);
      await worker.stop();
      expect(worker.counts).toMatchObject({ completed: 2, lost: 0 });
    });

    it("C10 between its statements, undo all of them, and the whole is done anew", async () => {
      const world = await faultWorld();
      const [begun, killed] = [gate(), gate()];
      const inBody = (): Promise<void> => {
        begun.open();
        return killed.promise;
      };
      const job = writing(world, { inBody });
      const { jobId } = await world.bystander.enqueue(job);
      const worker = world.client().work([job, quick], { pollMs: NEVER_POLLS_MS });
      await begun.promise;
      await world.backends.kill("the open transaction", ({ state }) => state === "idle in transaction");
      killed.open();
      expect(await world.ended(jobId)).toMatchObject({ result: "body 2", generation: 1, attempt: 1 });
      expect(await notes(world)).toEqual([{ result: "body 2" }]);
      await stillWakes(world);
      await worker.stop();
      expect(worker.counts).toMatchObject({ completed: 2, lost: 0 });
    });
  });
});
