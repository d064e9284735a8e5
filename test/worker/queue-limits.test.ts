import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { InvalidArgumentError } from "../../src/errors.ts";
import { slotRange } from "../../src/protocol/limit.ts";
import { type Gate, gate, testWorld } from "./world.ts";

const CALL = { timeoutMs: 1_000 };

/** Jobs that run until their gate is opened, and who runs. */
function gated(leaseMs = 1_000) {
  const running = new Map<string, Gate>();
  let most = 0;
  const job = defineJob({
    name: "mail",
    leaseMs,
    async run({ job, signal }) {
      const hold = gate();
      running.set(job.id, hold);
      most = Math.max(most, running.size);
      signal.addEventListener("abort", () => hold.fail(signal.reason));
      try {
        await hold.promise;
      } finally {
        running.delete(job.id);
      }
    },
  });
  return {
    job,
    running,
    most: () => most,
    endOne() {
      const [first] = running.values();
      first?.open();
    },
  };
}

describe("a queue's concurrency", () => {
  it("holds over all workers, and what has to wait begins when a handler has ended", async () => {
    const t = testWorld();
    const { job, running, most, endOne } = gated();
    await t.leasehold.limitQueue("mail", { concurrency: 2 });
    await t.leasehold.enqueueMany(Array.from({ length: 6 }, () => ({ job })));
    t.leasehold.work([job], { concurrency: 10 });
    t.another().work([job], { concurrency: 10 });
    await t.world.advance(5_000);
    expect(running.size).toBe(2);
    for (let ended = 1; ended <= 4; ended++) {
      endOne();
      await t.world.advance(2_500);
      expect(running.size).toBe(2);
    }
    for (const hold of [...running.values()]) hold.open();
    await t.world.advance(2_500);
    expect(most()).toBe(2);
    expect(await t.leasehold.counts()).toMatchObject([{ queue: "mail", completed: 6, leased: 0 }]);
  });

  it("is kept by a run of many leases: its slot is renewed with its job", async () => {
    const t = testWorld();
    const { job, running } = gated();
    await t.leasehold.limitQueue("mail", { concurrency: 1 });
    await t.leasehold.enqueueMany([{ job }, { job }]);
    t.leasehold.work([job]);
    await t.world.advance(20_000);
    expect(running.size).toBe(1);
    expect(await t.leasehold.counts()).toMatchObject([{ leased: 1, ready: 1 }]);
  });

  it("gives back a killed worker's slots by their lapse", async () => {
    const t = testWorld();
    const { job, running } = gated();
    await t.leasehold.limitQueue("mail", { concurrency: 2 });
    await t.leasehold.enqueueMany(Array.from({ length: 4 }, () => ({ job })));
    const killed = [t.mortal(), t.mortal()];
    for (const { leasehold } of killed) leasehold.work([job], { concurrency: 1 });
    await t.world.advance(500);
    expect(running.size).toBe(2);
    for (const { kill } of killed) kill();
    t.another().work([job], { concurrency: 10 });
    await t.world.advance(3_000);
    expect(await t.leasehold.counts()).toMatchObject([{ leased: 2, ready: 2 }]);
    const started = [...running.keys()].length;
    expect(started).toBe(2); // the same two jobs, taken over
  });

  it("gives back, with its attempt, a run whose slot another one has", async () => {
    const t = testWorld();
    const { job, running } = gated();
    await t.leasehold.limitQueue("mail", { concurrency: 1 });
    const { jobId } = await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    const released: string[] = [];
    worker.on("released", ({ why }) => released.push(why));
    await t.world.advance(100);
    expect(running.size).toBe(1);
    const [from] = slotRange("mail");
    const lease = await t.store.getLease(`${from}1`, CALL);
    await t.store.release(
      [{ name: `${from}1`, owner: lease?.owner as never, generation: lease?.generation as never }],
      CALL,
    );
    await t.leasehold.pauseQueue("mail");
    await t.world.advance(1_000);
    expect(released).toEqual(["slot_lost"]);
    expect(await t.leasehold.get(jobId)).toMatchObject({ state: "ready", attempt: 0 });
  });

  it("lets a stopped worker's slots go at once", async () => {
    const t = testWorld();
    const { job, running } = gated();
    await t.leasehold.limitQueue("mail", { concurrency: 1 });
    await t.leasehold.enqueueMany([{ job }, { job }]);
    const worker = t.leasehold.work([job], { graceMs: 0 });
    await t.world.advance(100);
    const stopping = worker.stop();
    await t.world.advance(50);
    await stopping;
    expect(running.size).toBe(0);
    t.another().work([job]);
    await t.world.advance(100);
    expect(running.size).toBe(1);
  });
});

describe("a queue's rate", () => {
  it("holds for a minute of the store's clock over three workers, and is used to its full", async () => {
    const t = testWorld();
    const began: number[] = [];
    const job = defineJob({ name: "mail", run: () => void began.push(t.world.clock.monotonicMs()) });
    const rate = { count: 10, perMs: 5_000 };
    await t.leasehold.limitQueue("mail", { rate });
    await t.leasehold.enqueueMany(Array.from({ length: 500 }, () => ({ job })));
    for (const leasehold of [t.leasehold, t.another(), t.another()]) leasehold.work([job]);
    await t.world.advance(60_000);
    for (const [n, fromMs] of began.entries()) {
      expect(began.slice(n).filter((ms) => ms - fromMs < rate.perMs).length).toBeLessThanOrEqual(rate.count);
    }
    // 12 stretches, each begun a hundredth late at most.
    expect(began.length).toBeGreaterThanOrEqual(110);
    expect(began.length).toBeLessThanOrEqual(130);
    expect(await t.leasehold.counts()).toMatchObject([{ failed: 0 }]);
  });
});

describe("a queue's rate, of which a burst asks twice", () => {
  it("has its backlog behind it after two stretches, with what comes meanwhile, each in its order", async () => {
    const t = testWorld();
    const began: number[] = [];
    const job = defineJob({ name: "mail", run: ({ input }: { input: number }) => void began.push(input) });
    await t.leasehold.limitQueue("mail", { rate: { count: 100, perMs: 60_000 } });
    let next = 0;
    const enqueue = (jobs: number): Promise<unknown> =>
      t.leasehold.enqueueMany(Array.from({ length: jobs }, () => ({ job, input: next++ })));
    await enqueue(200);
    t.leasehold.work([job]);
    const left: number[] = [];
    for (let minute = 0; minute < 5; minute += 1) {
      await t.world.advance(60_000);
      left.push(next - began.length);
      await enqueue(20);
    }
    // A stretch is begun a hundredth late at most.
    expect(left[0]).toBeGreaterThanOrEqual(80);
    expect(left.slice(3)).toEqual([0, 0]);
    expect(began).toEqual(Array.from({ length: began.length }, (_, n) => n));
  });
});

describe("two jobs of one priority, of which each attempt fails", () => {
  it("C15 go on in their order: the later one never goes in front of the earlier one for good", async () => {
    const t = testWorld();
    const began: unknown[] = [];
    const job = defineJob({
      name: "job",
      maxAttempts: 20,
      backoff: { kind: "fixed", baseMs: 100, jitter: "none" },
      run({ input }) {
        began.push(input);
        throw new Error("too many requests");
      },
    });
    await t.leasehold.enqueueMany(["first", "second"].map((input) => ({ job, input })));
    t.leasehold.work([job], { concurrency: 1 });
    await t.world.advance(60_000);
    expect(began).toEqual(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? "first" : "second")));
  });
});

describe("limitQueue", () => {
  it.each([
    [{ concurrency: 0 }, "limit.concurrency"],
    [{ concurrency: 1.5 }, "limit.concurrency"],
    [{ concurrency: 20_000 }, "limit.concurrency"],
    [{ rate: { count: 0, perMs: 1_000 } }, "limit.rate.count"],
    [{ rate: { count: 1, perMs: 0 } }, "limit.rate.perMs"],
    [{ rate: { count: 1, per: "1s" } }, "limit.rate"],
    [{ atOnce: 2 }, "limit"],
    [{}, "limit"],
  ])("refuses %j, naming %s, before anything is written", async (limit, named) => {
    const t = testWorld();
    const error = await t.leasehold.limitQueue("mail", limit as never).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(String(error)).toContain(named);
    expect(await t.leasehold.counts()).toEqual([]);
  });

  it("keeps its leases' names from callers", async () => {
    const t = testWorld();
    const name = `${slotRange("mail")[0]}1`;
    await expect(t.leasehold.withLease(name, {}, () => {})).rejects.toThrow(/leasehold:/);
    const job = defineJob({ name: "mail", resource: () => name, run() {} });
    await expect(t.leasehold.enqueue(job)).rejects.toThrow(/leasehold:/);
  });
});
