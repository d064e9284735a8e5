import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import {
  AlreadySettledError,
  StaleLeaseError,
  StoreBusyError,
  UnknownOutcomeError,
} from "../../src/errors.ts";
import { gate, testWorld } from "./world.ts";

describe("job.complete", () => {
  it("commits the completion with what its body did, and gives the body's value back", async () => {
    const { leasehold } = testWorld();
    const seen: unknown[] = [];
    const job = defineJob({
      name: "job",
      async run({ job }) {
        seen.push(await job.complete(async (tx) => (typeof tx.query === "function" ? "written" : "no tx")));
        return "ignored";
      },
    });
    const answer = await leasehold.enqueue(job);
    expect(await leasehold.drain([job])).toMatchObject({ completed: 1 });
    expect(seen).toEqual(["written"]);
    expect(await leasehold.result(answer)).toBe("written");
  });

  it("is refused as a whole when the lease is stale, and ends the run as lost", async () => {
    const { leasehold, world } = testWorld();
    const hold = gate();
    let thrown: unknown;
    let reason: unknown;
    const job = defineJob({
      name: "job",
      async run({ job, signal }) {
        await hold.promise;
        await job.complete(() => "never").catch((error) => (thrown = error));
        reason = signal.reason;
        throw new Error("after the refusal");
      },
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.settle();
    await leasehold.pauseQueue("job");
    await leasehold.revoke(answer);
    hold.open();
    await world.settle();
    expect(thrown).toBeInstanceOf(StaleLeaseError);
    expect(reason).toMatchObject({ reason: "revoked" });
    expect(worker.counts).toMatchObject({ lost: 1, completed: 0, retried: 0 });
    expect(await leasehold.get(answer)).toMatchObject({
      state: "ready",
      result: undefined,
      error: undefined,
    });
    await worker.stop();
  });

  it("can be done once only", async () => {
    const { leasehold } = testWorld();
    const errors: unknown[] = [];
    const job = defineJob({
      name: "job",
      async run({ job }) {
        await Promise.all([
          job.complete(() => 1),
          job.complete(() => 2).catch((error) => errors.push(error)),
        ]);
        await job.complete(() => 3).catch((error) => errors.push(error));
      },
    });
    const answer = await leasehold.enqueue(job);
    await leasehold.drain([job]);
    expect(errors.map((error) => error instanceof AlreadySettledError)).toEqual([true, true]);
    expect(await leasehold.result(answer)).toBe(1);
  });

  it("runs its body again when the store was busy, for as long as the lease is trusted", async () => {
    const { leasehold, world, store } = testWorld();
    let bodies = 0;
    const job = defineJob({ name: "job", run: ({ job }) => job.complete(() => ++bodies) });
    let busy = 3;
    store.before("completeWith", () => {
      if (busy-- > 0) throw new StoreBusyError("complete", 100);
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.advance(500);
    expect(await leasehold.result(answer)).toBe(1);
    expect(store.called("completeWith")).toBe(4);
    await worker.stop();
  });

  it("asks what became of it when no answer came, and never completes twice", async () => {
    const { leasehold, world, store } = testWorld();
    let bodies = 0;
    const job = defineJob({ name: "job", run: ({ job }) => job.complete(() => ++bodies) });
    let lost = 1;
    store.after("completeWith", () => {
      if (lost-- > 0) throw new UnknownOutcomeError("complete", "time-out");
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.advance(500);
    expect(worker.counts).toMatchObject({ completed: 1, lost: 0 });
    expect([bodies, store.called("completeWith"), store.called("outcome")]).toEqual([1, 1, 1]);
    expect(await leasehold.result(answer)).toBe(1);
    await worker.stop();
  });

  it("C11 stays unknown to its handler when no later call could find out", async () => {
    const { leasehold, world, store } = testWorld();
    let thrown: unknown;
    const job = defineJob({
      name: "job",
      leaseMs: 1_000,
      run: ({ job }) => job.complete(() => "written").catch((error) => (thrown = error)),
    });
    store.after("completeWith", () => {
      throw new UnknownOutcomeError("complete", "time-out");
    });
    const away = (): void => {
      throw new StoreBusyError("outcome", 100);
    };
    for (const method of ["outcome", "renew"] as const) store.before(method, away);
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.advance(2_000);
    expect(thrown).toBeInstanceOf(UnknownOutcomeError);
    expect(await leasehold.get(answer)).toMatchObject({ state: "completed", result: "written" });
    await worker.stop();
  });

  it("that was not waited for is waited for by the run", async () => {
    const { leasehold } = testWorld();
    const job = defineJob({
      name: "job",
      run({ job }) {
        void job.complete(() => "by the body");
        return "by the handler";
      },
    });
    const answer = await leasehold.enqueue(job);
    expect(await leasehold.drain([job])).toMatchObject({ completed: 1 });
    expect(await leasehold.result(answer)).toBe("by the body");
  });

  it("whose body throws writes nothing: the handler hears it and may go on", async () => {
    const { leasehold } = testWorld();
    const job = defineJob({
      name: "job",
      async run({ job }) {
        await job
          .complete(() => {
            throw new Error("no");
          })
          .catch(() => {});
        return "by the handler";
      },
    });
    const answer = await leasehold.enqueue(job);
    await leasehold.drain([job]);
    expect(await leasehold.result(answer)).toBe("by the handler");
  });

  it("refuses a result that cannot be stored, and the job is not completed", async () => {
    const { leasehold } = testWorld();
    const job = defineJob({
      name: "job",
      maxAttempts: 1,
      run: ({ job }) => job.complete(() => ({ at: new Date(0) })),
    });
    const answer = await leasehold.enqueue(job);
    expect(await leasehold.drain([job])).toMatchObject({ failed: 1 });
    expect((await leasehold.get(answer))?.error?.message).toContain("result.at: it is a Date");
  });
});
