import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import type { Lease } from "../../src/client/handler.ts";
import { type LeaseEndedError, LeaseNotTrustedError } from "../../src/errors.ts";
import { claimAndDie, gate, testWorld } from "./world.ts";

describe("a handler that ignores its signal (W4)", () => {
  it("is reported as stuck after the grace; its place stays taken and its lease is left to lapse", async () => {
    const { leasehold, world, another } = testWorld();
    const stuck: unknown[] = [];
    let begun = 0;
    const job = defineJob({
      name: "job",
      leaseMs: 600,
      maxRunMs: 1_000,
      run: () => (++begun === 1 ? new Promise(() => {}) : undefined),
    });
    const { jobId } = await leasehold.enqueue(job);
    const worker = leasehold.work([job], { concurrency: 1, graceMs: 500 });
    worker.on("stuck", ({ job: { id }, reason }) => stuck.push([id, reason]));
    await world.advance(1_400);
    expect(stuck).toEqual([]);
    await world.advance(200);
    expect(stuck).toEqual([[jobId, "max_run"]]);
    await leasehold.enqueue(job);
    await world.advance(2_000);
    expect([worker.running, begun]).toEqual([1, 1]);

    const rescuer = another().work([job]);
    await world.advance(1_000);
    expect(begun).toBe(3);
    expect(await leasehold.get(jobId)).toMatchObject({ state: "completed", generation: 2, attempt: 2 });
    await rescuer.stop();
    const stopped = worker.stop({ graceMs: 0 });
    await world.advance(2_000);
    await stopped;
  });

  it("is left to lapse also where nothing but a cancellation ends it", async () => {
    const { leasehold, world, another } = testWorld();
    const job = defineJob({ name: "job", leaseMs: 600, run: () => new Promise(() => {}) });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job], { graceMs: 500 });
    const stuck: unknown[] = [];
    worker.on("stuck", ({ reason }) => stuck.push(reason));
    await world.settle();
    await leasehold.cancel(answer);
    await world.advance(1_000);
    expect(stuck).toEqual(["cancelled"]);
    const rescuer = another().work([job]);
    await world.advance(3_000);
    expect(await leasehold.get(answer)).toMatchObject({ state: "cancelled" });
    await rescuer.stop();
    const stopped = worker.stop({ graceMs: 0 });
    await world.advance(2_000);
    await stopped;
  });

  it("is trusted no longer when a renewal that was under way then is refused (I11)", async () => {
    const { leasehold, world, store } = testWorld();
    let held: Lease | undefined;
    const job = defineJob({
      name: "job",
      leaseMs: 6_000,
      maxRunMs: 2_500,
      run({ lease }) {
        held = lease;
        return new Promise(() => {});
      },
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job], { graceMs: 100 });
    const stuck: unknown[] = [];
    worker.on("stuck", ({ reason }) => stuck.push(reason));
    await world.settle();
    await leasehold.pauseQueue("job");
    await leasehold.revoke(answer);
    const answers = gate();
    store.after("renew", () => answers.promise);
    await world.advance(2_700);
    expect([store.called("renew"), stuck]).toEqual([1, ["max_run"]]);
    expect(() => held?.assertTrusted()).not.toThrow();
    answers.open();
    await world.settle();
    expect(() => held?.assertTrusted()).toThrow(LeaseNotTrustedError);
    const stopped = worker.stop({ graceMs: 0 });
    await world.advance(2_000);
    await stopped;
    expect(store.called("renew")).toBe(1);
  });

  it("may still end: its result is offered, and refused when somebody has claimed since", async () => {
    const { leasehold, world, another } = testWorld();
    const first = gate<string>();
    let begun = 0;
    const job = defineJob({
      name: "job",
      leaseMs: 600,
      maxRunMs: 500,
      run: () => (++begun === 1 ? first.promise : "the second's"),
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job], { graceMs: 100, concurrency: 1 });
    await world.advance(700);
    const rescuer = another().work([job]);
    await world.advance(1_000);
    expect(begun).toBe(2);
    first.open("the first's");
    await world.settle();
    expect(worker.counts).toMatchObject({ lost: 1, completed: 0 });
    expect(worker.running).toBe(0);
    expect(await leasehold.result(answer)).toBe("the second's");
    await rescuer.stop();
    await worker.stop();
  });
});

describe("a lost lease (W5)", () => {
  it("discards what the handler returns, and sends nothing for it to the store", async () => {
    const { leasehold, world, store } = testWorld();
    const hold = gate<string>();
    const job = defineJob({ name: "job", leaseMs: 600, run: () => hold.promise });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    const lost: unknown[] = [];
    worker.on("lost", ({ refusal }) => lost.push(refusal));
    await world.settle();
    await leasehold.pauseQueue("job");
    await leasehold.revoke(answer);
    await world.advance(300);
    const settlings = store.called("settle");
    hold.open("late");
    await world.settle();
    expect(lost).toMatchObject([{ outcome: "stale", reason: "revoked", generation: 2 }]);
    expect(store.called("settle")).toBe(settlings);
    expect(worker.counts).toMatchObject({ lost: 1, completed: 0 });
    expect(worker.running).toBe(0);
    await worker.stop();
  });

  it("is learned from the completion itself when no renewal came in between: stale, never completed", async () => {
    const { leasehold, world, store } = testWorld();
    const hold = gate<string>();
    const job = defineJob({ name: "job", leaseMs: 30_000, run: () => hold.promise });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.settle();
    await leasehold.revoke(answer);
    await claimAndDie(store, "job");
    hold.open("late");
    await world.settle();
    expect(worker.counts).toMatchObject({ lost: 1, completed: 0 });
    expect(await leasehold.get(answer)).toMatchObject({ state: "leased", generation: 3, result: undefined });
    await worker.stop();
  });

  it("of a job that was deleted meanwhile ends as lost with `gone`", async () => {
    const { leasehold, world } = testWorld();
    const hold = gate<string>();
    const job = defineJob({ name: "job", run: () => hold.promise });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    const lost: unknown[] = [];
    worker.on("lost", ({ refusal }) => lost.push(refusal));
    await world.settle();
    await leasehold.pauseQueue("job");
    await leasehold.revoke(answer);
    await leasehold.delete(answer);
    hold.open("late");
    await world.settle();
    expect(lost).toEqual([{ outcome: "gone" }]);
    await worker.stop();
  });

  it("is not what a lapse alone is: without a reclaim the result of a late handler is accepted", async () => {
    const { leasehold, world, store } = testWorld();
    const hold = gate<string>();
    let reason: LeaseEndedError | undefined;
    const job = defineJob({
      name: "job",
      leaseMs: 600,
      run({ signal }) {
        signal.addEventListener("abort", () => (reason = signal.reason));
        return hold.promise;
      },
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.settle();
    const reconnect = store.before("renew", () => {
      throw new Error("unreachable");
    });
    const noClaims = store.before("claim", () => {
      throw new Error("unreachable");
    });
    await world.advance(2_000);
    expect(reason?.reason).toBe("lease_expired");
    reconnect();
    hold.open("in the end");
    await world.settle();
    expect(await leasehold.result(answer)).toBe("in the end");
    noClaims();
    await worker.stop();
  });

  it("frees the place at once when the handler ends, whatever the store does", async () => {
    const { leasehold, world, store } = testWorld();
    const hold = gate<string>();
    const job = defineJob({ name: "job", run: () => hold.promise });
    await leasehold.enqueue(job);
    const worker = leasehold.work([job], { concurrency: 1 });
    await world.settle();
    const answer = gate();
    store.before("settle", () => answer.promise);
    hold.open("done");
    await world.settle();
    expect(worker.running).toBe(0);
    answer.open();
    await worker.stop();
  });

  it("is no loss when a renewal is refused after the run's own settling", async () => {
    const { leasehold, world, store } = testWorld();
    const hold = gate<string>();
    const renewal = gate();
    const job = defineJob({ name: "job", leaseMs: 600, run: () => hold.promise });
    await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.settle();
    store.before("renew", () => renewal.promise);
    await world.advance(250);
    hold.open("done");
    await world.settle();
    renewal.open();
    await world.advance(1_000);
    expect(worker.counts).toMatchObject({ completed: 1, lost: 0 });
    await worker.stop();
  });
});
