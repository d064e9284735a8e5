import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { ClosedError, UnknownOutcomeError } from "../../src/errors.ts";
import { gate, testWorld } from "./world.ts";

describe("stopping (W6)", () => {
  it("claims nothing new, renews and waits while handlers finish, and gives back what has not begun", async () => {
    const { leasehold, world } = testWorld();
    const hold = gate();
    let begun = 0;
    const job = defineJob({
      name: "job",
      leaseMs: 600,
      run: () => (++begun <= 20 ? undefined : hold.promise),
    });
    await leasehold.enqueueMany(Array.from({ length: 60 }, () => ({ job })));
    const worker = leasehold.work([job], { concurrency: 3 });
    await world.advance(20);
    expect(worker.running).toBe(3);
    let stopped = false;
    const stopping = worker.stop().then(() => (stopped = true));
    await world.settle();
    const counts = (await leasehold.counts())[0]!;
    expect(counts).toMatchObject({ leased: 3, ready: 37 });
    // 1.5 leases later they are still renewed.
    await world.advance(900);
    expect((await leasehold.counts())[0]).toMatchObject({ leased: 3, expired: 0 });
    expect(stopped).toBe(false);
    hold.open();
    await stopping;
    expect((await leasehold.counts())[0]).toMatchObject({ leased: 0, ready: 37, completed: 23 });
    const { jobs } = await leasehold.list({ states: ["ready"] });
    expect(new Set(jobs.map(({ attempt }) => attempt))).toEqual(new Set([0]));
    expect(world.pendingTimers).toBe(0);
  });

  it("fires the signals when the grace is over, and gives back with their attempt the runs that end then", async () => {
    const { leasehold, world } = testWorld();
    let reason: unknown;
    const job = defineJob({
      name: "job",
      run: ({ signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => {
            reason = signal.reason;
            reject(new Error("interrupted"));
          }),
        ),
    });
    const { jobId } = await leasehold.enqueue(job);
    const worker = leasehold.work([job], { graceMs: 1_000 });
    await world.settle();
    const stopping = worker.stop();
    await world.advance(990);
    expect(reason).toBeUndefined();
    await world.advance(20);
    await stopping;
    expect(reason).toMatchObject({ reason: "shutdown" });
    expect(await leasehold.get(jobId)).toMatchObject({ state: "ready", attempt: 0, error: undefined });
    expect(worker.counts).toMatchObject({ released: 1 });
  });

  it("offers an outcome no more once it has closed, also when the call under way fails after that", async () => {
    const { leasehold, store, world } = testWorld({ callTimeoutMs: 500 });
    const answer = gate();
    store.before("settle", () => answer.promise);
    const job = defineJob({ name: "job", run: () => "done" });
    await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.settle();
    expect(store.called("settle")).toBe(1);
    const stopping = worker.stop();
    await world.advance(510);
    await stopping;
    answer.fail(new UnknownOutcomeError("settle", new Error("no answer")));
    await world.advance(10_000);
    expect(store.called("settle")).toBe(1);
    expect(world.pendingTimers).toBe(0);
  });

  it("gives up no slot of a limited queue once it has closed, also when an outcome is answered after that", async () => {
    const { leasehold, store, world } = testWorld({ callTimeoutMs: 500 });
    await leasehold.limitQueue("job", { concurrency: 1 });
    const answer = gate();
    store.before("settle", () => answer.promise);
    const job = defineJob({ name: "job", run: () => "done" });
    await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.advance(100);
    expect(store.called("settle")).toBe(1);
    const stopping = worker.stop();
    await world.advance(510);
    await stopping;
    answer.open();
    await world.advance(1_000);
    expect((await leasehold.counts())[0]).toMatchObject({ completed: 1 });
    expect(store.called("release")).toBe(0);
    expect(world.pendingTimers).toBe(0);
  });

  it("keeps the result of a handler that returns after its signal", async () => {
    const { leasehold, world } = testWorld();
    const job = defineJob({
      name: "job",
      run: ({ signal }) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve("in time"))),
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job], { graceMs: 0 });
    await world.settle();
    const stopping = worker.stop();
    await world.advance(1);
    await stopping;
    expect(await leasehold.result(answer)).toBe("in time");
  });

  it("leaves to lapse what does not end, and never takes its lease away while it runs", async () => {
    const { leasehold, world, another } = testWorld();
    let begun = 0;
    const job = defineJob({
      name: "job",
      leaseMs: 5_000,
      run: () => (++begun === 1 ? new Promise(() => {}) : "done"),
    });
    const answer = await leasehold.enqueue(job);
    const stuck: string[] = [];
    const worker = leasehold.work([job], { graceMs: 100 }).on("stuck", ({ reason }) => stuck.push(reason));
    await world.settle();
    const stopping = worker.stop();
    await world.advance(2_200);
    await stopping;
    expect(stuck).toEqual(["shutdown"]);
    const rescuer = another().work([job]);
    await world.advance(2_000);
    expect(begun).toBe(1);
    await world.advance(5_000);
    expect(begun).toBe(2);
    expect(await leasehold.get(answer)).toMatchObject({ state: "completed", generation: 2 });
    await rescuer.stop();
  });

  it("may be asked for twice, first of all, and with a shorter grace the second time", async () => {
    const { leasehold, world } = testWorld();
    const job = defineJob({
      name: "job",
      run: ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)),
    });
    const early = leasehold.work([job]);
    await Promise.all([early.stop(), early.stop()]);
    await early.stop();

    await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.settle();
    const first = worker.stop({ graceMs: 60_000 });
    await world.advance(1_000);
    const second = worker.stop({ graceMs: 0 });
    await world.advance(1);
    await Promise.all([first, second]);
    expect(worker.running).toBe(0);
  });

  it("ends though the store has gone: outcomes that cannot be handed over are left to lapse", async () => {
    const { leasehold, world, store } = testWorld({ callTimeoutMs: 1_000 });
    const hold = gate();
    const job = defineJob({ name: "job", run: () => hold.promise });
    await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.settle();
    for (const method of ["settle", "claim", "renew"] as const) {
      store.before(method, () => {
        throw new Error("unreachable");
      });
    }
    hold.open();
    const stopping = worker.stop();
    await world.advance(3_500);
    await stopping;
    expect(worker.counts).toMatchObject({ completed: 0, lost: 0 });
    expect(world.pendingTimers).toBeLessThanOrEqual(1);
  });

  it("is what closing the client does to its workers; afterwards nothing is accepted", async () => {
    const { leasehold, world } = testWorld();
    let ran = 0;
    const job = defineJob({ name: "job", run: () => void ran++ });
    await leasehold.enqueue(job);
    leasehold.work([job]);
    await world.settle();
    await leasehold.close();
    await leasehold.close();
    expect(ran).toBe(1);
    await expect(leasehold.enqueue(job)).rejects.toBeInstanceOf(ClosedError);
    expect(() => leasehold.work([job])).toThrow(ClosedError);
    await expect(leasehold.withLease("x", {}, () => 1)).rejects.toBeInstanceOf(ClosedError);
    expect(world.pendingTimers).toBe(0);
  });

  it("happens by itself at the end of an `await using` block", async () => {
    const { world, leasehold } = testWorld();
    const job = defineJob({ name: "job", run: () => "ran" });
    const answer = await leasehold.enqueue(job);
    let outside: { readonly running: number } | undefined;
    {
      await using worker = leasehold.work([job]);
      outside = worker;
      await world.settle();
    }
    expect(outside.running).toBe(0);
    expect(await leasehold.result(answer)).toBe("ran");
    await leasehold[Symbol.asyncDispose]();
  });
});

describe("drain", () => {
  it("runs what is due, also what comes up meanwhile, and leaves delayed jobs for later", async () => {
    const { leasehold } = testWorld();
    let left = 5;
    const chain = defineJob({
      name: "chain",
      async run() {
        if (left-- > 0) await leasehold.enqueue(chain);
      },
    });
    await leasehold.enqueue(chain);
    await leasehold.enqueue(chain, null, { delayMs: 60_000 });
    expect(await leasehold.drain([chain])).toMatchObject({ completed: 6 });
    expect((await leasehold.counts())[0]).toMatchObject({ ready: 1, delayed: 1 });
  });

  it("runs jobs that share a resource one after the other", async () => {
    const { leasehold, world } = testWorld();
    let at = 0;
    let most = 0;
    const job = defineJob({
      name: "job",
      resource: () => "account:42",
      async run() {
        most = Math.max(most, ++at);
        await Promise.resolve();
        at--;
      },
    });
    await leasehold.enqueueMany(Array.from({ length: 20 }, () => ({ job })));
    const draining = leasehold.drain([job]);
    await world.advance(1);
    expect(await draining).toMatchObject({ completed: 20 });
    expect(most).toBe(1);
  });

  it("ends early, and gracefully, when its signal fires", async () => {
    const { leasehold, world } = testWorld();
    const over = new AbortController();
    const hold = gate();
    const job = defineJob({ name: "job", run: () => hold.promise });
    await leasehold.enqueueMany([{ job }, { job }]);
    const draining = leasehold.drain([job], { concurrency: 1, signal: over.signal });
    await world.settle();
    over.abort();
    hold.open();
    expect(await draining).toMatchObject({ completed: 1 });
    expect((await leasehold.counts())[0]).toMatchObject({ ready: 1 });
  });
});
