import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import type { EffectLease } from "../../src/destinations/destination.ts";
import { FinalError, UnknownOutcomeError } from "../../src/errors.ts";
import { EPOCH_SIZE } from "../../src/protocol/floor.ts";
import { generation, type JobId, jobLine, type Line, leaseLine, owner } from "../../src/protocol/identity.ts";
import { memoryGuard } from "../support/memory-guard.ts";
import { testWorld } from "./world.ts";

const LOST = owner("somebody of whom the store has no record");

type Guard = ReturnType<typeof memoryGuard>;

/** What a claim that the store has lost did at the destination. */
async function lostWrite(guard: Guard, line: Line, at: number): Promise<void> {
  const token = { line, generation: generation(at), owner: LOST };
  await write(guard, { token, effectScope: null }, `lost, ${at}`);
}

function write(guard: Guard, lease: EffectLease, text: string): Promise<string> {
  return guard.write(lease, {}, (tx) => {
    tx.write(text);
    return text;
  });
}

describe("a run that a destination refuses although the store calls it current (D6)", () => {
  it("C19 lifts the store to the mark and gives the job back with its attempt; the next run is admitted", async () => {
    const { leasehold, log, world } = testWorld();
    const guard = memoryGuard();
    const job = defineJob({
      name: "job",
      maxAttempts: 1,
      run: ({ lease }) => write(guard, lease, "kept"),
    });
    const { jobId } = await leasehold.enqueue(job);
    await lostWrite(guard, jobLine(jobId), 7);
    const worker = leasehold.work([job]);
    const told: unknown[] = [];
    worker.on("healed", ({ job: { generation }, mark, state }) => told.push([generation, mark, state]));
    worker.on("released", ({ why }) => told.push(why));
    await world.settle();

    expect(await leasehold.get(jobId)).toMatchObject({ state: "completed", generation: 8, attempt: 1 });
    expect(guard.written).toEqual(["lost, 7", "kept"]);
    expect(told).toEqual([[1, 7, "ready"], "healed"]);
    expect(log).toMatchObject([{ level: "warning", kind: "healed" }]);
    expect(worker.counts).toMatchObject({ completed: 1, released: 1, retried: 0, failed: 0 });
    await worker.stop();
  });

  it("lifts it from an equal generation of another owner, too", async () => {
    const { leasehold, world } = testWorld();
    const guard = memoryGuard();
    const job = defineJob({
      name: "job",
      run: ({ lease }) => write(guard, lease, "kept"),
    });
    const { jobId } = await leasehold.enqueue(job);
    await lostWrite(guard, jobLine(jobId), 1);
    const worker = leasehold.work([job]);
    await world.settle();
    expect(await leasehold.get(jobId)).toMatchObject({ state: "completed", generation: 2 });
    await worker.stop();
  });

  it("finds the refusal behind an error that the handler wrapped around it", async () => {
    const { leasehold, world } = testWorld();
    const guard = memoryGuard();
    const job = defineJob({
      name: "job",
      async run({ lease }) {
        await write(guard, lease, "kept").catch((cause: unknown) => {
          throw new Error("could not write the invoice", { cause });
        });
      },
    });
    const { jobId } = await leasehold.enqueue(job);
    await lostWrite(guard, jobLine(jobId), 3);
    const worker = leasehold.work([job]);
    await world.settle();
    expect(await leasehold.get(jobId)).toMatchObject({ state: "completed", generation: 4 });
    await worker.stop();
  });

  it("lifts the line of the resource when the run holds one", async () => {
    const { leasehold, store, world } = testWorld();
    const guard = memoryGuard();
    const job = defineJob({
      name: "job",
      resource: () => "account:42",
      run: ({ lease }) => write(guard, lease, "kept"),
    });
    const { jobId } = await leasehold.enqueue(job);
    await lostWrite(guard, leaseLine("account:42"), 20);
    const worker = leasehold.work([job]);
    await world.settle();
    expect(await leasehold.get(jobId)).toMatchObject({ state: "completed", generation: 2 });
    expect(await store.getLease("account:42", { timeoutMs: 1_000 })).toMatchObject({ generation: 21 });
    await worker.stop();
  });

  it("asks again when the heal had no answer, and takes the job for healed by the earlier call", async () => {
    const { leasehold, store, world } = testWorld();
    const guard = memoryGuard();
    const job = defineJob({
      name: "job",
      run: ({ lease }) => write(guard, lease, "kept"),
    });
    const { jobId } = await leasehold.enqueue(job);
    await lostWrite(guard, jobLine(jobId), 5);
    store.after("heal", async () => {
      if (store.called("heal") > 1) return;
      await leasehold.pauseQueue("job");
      throw new UnknownOutcomeError("heal", new Error("no answer"));
    });
    const worker = leasehold.work([job]);
    const healed: unknown[] = [];
    worker.on("healed", ({ mark }) => healed.push(mark));
    await world.advance(2_000);
    expect(healed).toEqual([5]);
    expect(store.called("heal")).toBe(2);
    await leasehold.resumeQueue("job");
    await world.advance(10_000);
    expect(await leasehold.get(jobId)).toMatchObject({ state: "completed", generation: 6 });
    await worker.stop();
  });

  it("fails the job at the third heal, for the mark", async () => {
    const { leasehold, world } = testWorld();
    const guard = memoryGuard();
    let above = 10;
    const job = defineJob({
      name: "job",
      async run({ lease, job: { id } }) {
        above += 10;
        await lostWrite(guard, jobLine(id), above);
        await write(guard, lease, "never");
      },
    });
    const { jobId } = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    const failed: unknown[] = [];
    worker.on("failed", ({ endReason, error }) => failed.push([endReason, (error as Error).name]));
    await world.settle();
    expect(await leasehold.get(jobId)).toMatchObject({ state: "failed", endReason: "mark", generation: 40 });
    expect(failed).toEqual([["mark", "StaleTokenError"]]);
    expect(worker.counts).toMatchObject({ released: 2, failed: 1 });
    await worker.stop();
  });

  it("leaves a mark of a later epoch to a person, and is a failed attempt like any other", async () => {
    const { leasehold, log, store, world } = testWorld();
    const guard = memoryGuard();
    const job = defineJob({
      name: "job",
      maxAttempts: 2,
      backoff: { baseMs: 1_000, jitter: "none" },
      run: ({ lease }) => write(guard, lease, "kept"),
    });
    const { jobId } = await leasehold.enqueue(job);
    await lostWrite(guard, jobLine(jobId), EPOCH_SIZE);
    const worker = leasehold.work([job]);
    await world.settle();
    expect(await leasehold.get(jobId)).toMatchObject({ state: "ready", generation: 1, attempt: 1 });
    expect(log).toMatchObject([{ level: "error", kind: "mark_too_high" }]);
    expect(log[0]?.message).toContain("leasehold raise-floor");

    await store.raiseFloor({ timeoutMs: 1_000 });
    await world.advance(1_100);
    expect(await leasehold.get(jobId)).toMatchObject({ state: "completed", attempt: 2 });
    await worker.stop();
  });
});

describe("a refusal that tells nothing of the store", () => {
  /** One run of a job that throws; what became of it. */
  async function outcome(run: (guard: Guard, id: JobId, lease: EffectLease) => Promise<unknown>) {
    const { leasehold, store, world } = testWorld();
    const guard = memoryGuard();
    const job = defineJob({
      name: "job",
      maxAttempts: 1,
      run: ({ lease, job: { id } }) => run(guard, id, lease),
    });
    const { jobId } = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.settle();
    await worker.stop();
    return { found: await leasehold.get(jobId), heals: store.called("heal"), counts: worker.counts };
  }

  it("is a failed attempt when it is of another line", async () => {
    const { found, heals } = await outcome(async (guard) => {
      await lostWrite(guard, leaseLine("elsewhere"), 4);
      await lostWrite(guard, leaseLine("elsewhere"), 3);
    });
    expect(found).toMatchObject({ state: "failed", generation: 1 });
    expect(heals).toBe(0);
  });

  it("is final where the handler says so", async () => {
    const { found, heals } = await outcome(async (guard, id, lease) => {
      await lostWrite(guard, jobLine(id), 4);
      await write(guard, lease, "never").catch((cause: unknown) => {
        throw new FinalError("given up", { cause });
      });
    });
    expect(found).toMatchObject({ state: "failed", endReason: "final" });
    expect(heals).toBe(0);
  });

  it("D5 of a run that somebody has followed: the store does not call it current, so the run is lost and nothing is healed", async () => {
    const { leasehold, world } = testWorld();
    const guard = memoryGuard();
    const job = defineJob({
      name: "job",
      async run({ lease, job: { id, attempt } }) {
        if (attempt > 1 || lease.token.generation > 1) return;
        await leasehold.pauseQueue("job");
        const revoked = await leasehold.revoke(id);
        expect(revoked).toMatchObject({ outcome: "applied" });
        await lostWrite(guard, jobLine(id), 2);
        await write(guard, lease, "late");
      },
    });
    const { jobId } = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    const lost: unknown[] = [];
    worker.on("lost", ({ refusal }) => lost.push(refusal));
    await world.settle();
    expect(lost).toMatchObject([{ outcome: "stale", reason: "revoked" }]);
    expect(await leasehold.get(jobId)).toMatchObject({ state: "ready", generation: 2 });
    await worker.stop();
  });
});

describe("withLease (D6)", () => {
  it("lifts its lease to the mark, gives it up, and throws what fn threw; the next one is admitted", async () => {
    const { leasehold, log, store } = testWorld();
    const guard = memoryGuard();
    await lostWrite(guard, leaseLine("report"), 9);
    const report = () => leasehold.withLease("report", {}, (lease) => write(guard, lease, "kept"));
    await expect(report()).rejects.toMatchObject({ code: "LH_STALE_TOKEN", mark: { generation: 9 } });
    expect(await store.getLease("report", { timeoutMs: 1_000 })).toMatchObject({
      owner: null,
      generation: 9,
    });
    expect(log).toMatchObject([{ kind: "healed" }]);
    await report();
    expect(guard.written).toEqual(["lost, 9", "kept"]);
    expect(await store.getLease("report", { timeoutMs: 1_000 })).toMatchObject({
      owner: null,
      generation: 10,
    });
  });

  it("gives the lease up as it is when the mark is for a person", async () => {
    const { leasehold, log, store } = testWorld();
    const guard = memoryGuard();
    await lostWrite(guard, leaseLine("report"), EPOCH_SIZE);
    const written = leasehold.withLease("report", {}, (lease) => write(guard, lease, "never"));
    await expect(written).rejects.toMatchObject({ code: "LH_STALE_TOKEN" });
    expect(await store.getLease("report", { timeoutMs: 1_000 })).toMatchObject({
      owner: null,
      generation: 1,
    });
    expect(log).toMatchObject([{ level: "error", kind: "mark_too_high" }]);
  });
});
