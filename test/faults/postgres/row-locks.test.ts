import { defineJob, type Worker } from "leasehold";
import { describe, expect, it } from "vitest";
import { systemWorld } from "../../../src/clock/system.ts";
import type { FencingToken, JobId } from "../../../src/protocol/identity.ts";
import { i1TokenUnique } from "../../../src/protocol/invariants.ts";
import { eventually } from "../../support/eventually.ts";
import { optional } from "../../support/optional.ts";
import { missingPostgres } from "../../support/postgres-server.ts";
import { gate } from "../../worker/world.ts";
import { type FaultWorld, faultWorld } from "./world.ts";

/** Of the job whose row is locked where its lease is to lapse; the others' are longer, so that they stand a slow machine. */
const SHORT_MS = 800;
const LONG_MS = 3_000;

/** Runs until `end` opens; its result tells under which generation and how far it was trusted. */
function jobUntil(end: Promise<void>) {
  return defineJob({
    name: "job",
    async run({ lease }) {
      await end;
      return `${lease.token.generation} ${lease.state}`;
    },
  });
}

async function generationIs(
  generation: number,
  { row }: FaultWorld,
  jobIds: readonly JobId[],
): Promise<void> {
  for (const jobId of jobIds)
    await eventually("a claim", async () => (await row(jobId)).generation === generation);
}

/** Until so many ms have passed since the job's lease ended, by the store's time; or before that, below 0. */
async function sinceLapse(ms: number, { row }: FaultWorld, jobId: JobId): Promise<void> {
  await eventually("the lease to lapse", async () => {
    const { nowMs, leaseUntilMs } = await row(jobId);
    return nowMs - leaseUntilMs >= ms;
  });
}

/** The row's lock, taken when the job has just been renewed, and what the row says then. */
async function lockedFresh(world: FaultWorld, jobId: JobId) {
  await world.renewedBeyond((await world.row(jobId)).leaseUntilMs, jobId);
  const lock = await world.holdingRow(jobId);
  return { lock, locked: await world.row(jobId) };
}

optional("rows of PostgreSQL 18 that another session has locked", missingPostgres(18), () => {
  describe("a job that is ready", () => {
    it("C2 is skipped by claims, which take the others, and is claimed when the lock is gone", async () => {
      const world = await faultWorld();
      const job = defineJob({ name: "job", run: () => "done" });
      const jobs = await world.bystander.enqueueMany([{ job }, { job }, { job }]);
      const [first, second, third] = jobs.map(({ jobId }) => jobId) as [JobId, JobId, JobId];
      const lock = await world.holdingRow(first);
      world.client().work([job]);
      await Promise.all([world.ended(second), world.ended(third)]);
      expect(await world.row(first)).toMatchObject({ generation: 0, attempt: 0 });
      await lock.release();
      expect(await world.ended(first)).toMatchObject({ result: "done", generation: 1 });
    });
  });

  describe("a job whose owner renews it together with others", () => {
    it("C5 locked for half a lease, is asked for again and keeps its lease; the others are renewed meanwhile", async () => {
      const world = await faultWorld();
      const end = gate();
      const job = jobUntil(end.promise);
      const leaseMs = LONG_MS;
      const jobs = await world.bystander.enqueueMany(Array.from({ length: 6 }, () => ({ job, leaseMs })));
      const [jobId, ...others] = jobs.map(({ jobId }) => jobId) as [JobId, ...JobId[]];
      const worker = world.client().work([job]);
      await generationIs(1, world, [jobId, ...others]);
      const { lock, locked } = await lockedFresh(world, jobId);
      // They were granted at most a third of a lease before: whatever ends later than this was renewed meanwhile.
      for (const other of others) await world.renewedBeyond(locked.leaseUntilMs, other);
      await sinceLapse(-leaseMs / 2, world, jobId);
      expect((await world.row(jobId)).leaseUntilMs).toBe(locked.leaseUntilMs);
      await lock.release();
      await world.renewedBeyond(locked.leaseUntilMs, jobId);
      end.open();
      for (const each of [jobId, ...others])
        expect(await world.ended(each)).toMatchObject({ result: "1 held", attempt: 1 });
      await worker.stop();
      expect(worker.counts).toMatchObject({ completed: 6, lost: 0 });
    });

    it("C5 locked for longer than a lease, is its owner's again when the lock is gone and nobody has claimed it", async () => {
      const world = await faultWorld();
      const end = gate();
      const job = jobUntil(end.promise);
      const [short, long] = await world.bystander.enqueueMany([
        { job, leaseMs: SHORT_MS },
        { job, leaseMs: LONG_MS },
      ]);
      const worker = world.client().work([job], { concurrency: 2 }); // no place to claim it into
      const reasons: string[] = [];
      worker.on("aborted", ({ job, reason }) => reasons.push(`${job.id} ${reason}`));
      const { jobId } = short as { jobId: JobId };
      await generationIs(1, world, [jobId]);
      const { lock, locked } = await lockedFresh(world, jobId);
      await sinceLapse(1, world, jobId);
      await eventually("the signal", () => reasons.length > 0);
      await lock.release();
      await world.renewedBeyond(locked.leaseUntilMs, jobId);
      end.open();
      // W5: trust has ended, but the result is offered, and nobody else has claimed the job.
      expect(await world.ended(jobId)).toMatchObject({ result: "1 ended", attempt: 1 });
      expect(await world.ended((long as { jobId: JobId }).jobId)).toMatchObject({ result: "1 held" });
      expect(reasons).toEqual([`${jobId} lease_expired`]);
      await worker.stop();
      expect(worker.counts).toMatchObject({ completed: 2, lost: 0 });
    });

    it("C3 locked for two leases while a rival waits, has one owner for each generation and ends once", async () => {
      const world = await faultWorld();
      const end = gate();
      const job = jobUntil(end.promise);
      const other = defineJob({ name: "other", run: () => "taken" });
      const tokens: FencingToken[] = [];
      const completed: JobId[] = [];
      const watched = (worker: Worker): Worker =>
        worker
          .on("started", (run) => tokens.push(run.job.token))
          .on("completed", (run) => completed.push(run.job.id));
      const { jobId } = await world.bystander.enqueue(job, null, { leaseMs: SHORT_MS });
      watched(world.client().work([job], { concurrency: 1 }));
      await generationIs(1, world, [jobId]);
      const { lock, locked } = await lockedFresh(world, jobId);
      const rival = watched(world.client().work([job, other]));
      await sinceLapse(SHORT_MS, world, jobId);
      // The rival's claims pass by it, and take others.
      const { jobId: otherId } = await world.bystander.enqueue(other);
      expect(await world.ended(otherId)).toMatchObject({ result: "taken" });
      const { leaseUntilMs } = locked;
      expect(await world.row(jobId)).toMatchObject({ generation: 1, leaseUntilMs });
      await lock.release();
      await world.renewedBeyond(leaseUntilMs, jobId);
      end.open();
      const view = await world.ended(jobId);
      // By then both have told the store of their results.
      await Promise.all([world.bystander.close(), rival.stop()]);
      expect([`1 ended`, `2 held`]).toContain(view.result);
      expect(view.generation).toBe(Number(String(view.result)[0]));
      expect(i1TokenUnique(tokens)).toBeUndefined();
      expect(completed.filter((id) => id === jobId)).toHaveLength(1);
    });
  });

  describe("a job whose owner has died", () => {
    it("C5 locked until after its lease, is reclaimed with a higher generation when the lock is gone", async () => {
      const world = await faultWorld();
      const job = defineJob({
        name: "job",
        run: ({ job, lease }) => [lease.token.generation, job.previous?.owner ?? null],
      });
      const { jobId } = await world.bystander.enqueue(job, null, { leaseMs: SHORT_MS });
      const owner = systemWorld().ids.owner();
      const request = { owner, queues: ["job"], limit: 1, takeover: false };
      await world.bystander.store.claim(request, { timeoutMs: 20_000 });
      const lock = await world.holdingRow(jobId);
      world.client().work([job]);
      await sinceLapse(SHORT_MS, world, jobId);
      const { jobId: otherId } = await world.bystander.enqueue(job);
      expect(await world.ended(otherId)).toMatchObject({ generation: 1 });
      expect(await world.row(jobId)).toMatchObject({ generation: 1, attempt: 1 });
      await lock.release();
      expect(await world.ended(jobId)).toMatchObject({ result: [2, owner], attempt: 2 });
    });
  });
});
