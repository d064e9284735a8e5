import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { StoreBusyError, UnknownOutcomeError } from "../../src/errors.ts";
import { gate, testWorld } from "./world.ts";

describe("renewal on the main loop (W2)", () => {
  it("renews each lease when about a third of it has passed", async () => {
    const { leasehold, world, store } = testWorld();
    const hold = gate();
    const job = defineJob({ name: "job", leaseMs: 3_000, run: () => hold.promise });
    await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.advance(800);
    expect(store.called("renew")).toBe(0);
    await world.advance(250);
    expect(store.called("renew")).toBe(1);
    await world.advance(30_000);
    expect(store.called("renew")).toBeGreaterThanOrEqual(28);
    expect(store.called("renew")).toBeLessThanOrEqual(40);
    hold.open();
    await worker.stop();
    expect(worker.counts).toMatchObject({ completed: 1, lost: 0 });
  });

  it("sends what falls due within 50 ms in one statement", async () => {
    const { leasehold, world, store } = testWorld();
    const hold = gate();
    const job = defineJob({ name: "job", leaseMs: 600, run: () => hold.promise });
    await leasehold.enqueueMany(Array.from({ length: 100 }, () => ({ job })));
    const worker = leasehold.work([job], { concurrency: 100 });
    await world.advance(230);
    const renewals = store.calls.filter(({ method }) => method === "renew");
    expect(renewals.length).toBeLessThanOrEqual(2);
    expect(renewals.flatMap(({ args }) => args[0]).length).toBe(100);
    hold.open();
    await worker.stop();
  });

  it.each([
    ["no answer", () => new UnknownOutcomeError("renew", "time-out")],
    ["a busy store", () => new StoreBusyError("renew", 100)],
    ["a broken connection", () => new Error("ECONNRESET")],
  ])(
    "goes on after renewals that met %s three times in a row, with the same attempt",
    async (_what, error) => {
      const { leasehold, world, store } = testWorld();
      const hold = gate();
      let aborted: unknown;
      const job = defineJob({
        name: "job",
        leaseMs: 1_200,
        run({ signal }) {
          signal.addEventListener("abort", () => (aborted = signal.reason));
          return hold.promise;
        },
      });
      const { jobId } = await leasehold.enqueue(job);
      let left = 3;
      store.before("renew", () => {
        if (left-- > 0) throw error();
      });
      const worker = leasehold.work([job]);
      await world.advance(5_000);
      expect(left).toBeLessThan(0);
      expect(aborted).toBeUndefined();
      hold.open();
      await worker.stop();
      expect(await leasehold.get(jobId)).toMatchObject({ state: "completed", attempt: 1, generation: 1 });
    },
  );

  it("gives a slow answer half of the trust that is left", async () => {
    const { leasehold, world, store } = testWorld();
    const hold = gate();
    const job = defineJob({ name: "job", leaseMs: 3_000, run: () => hold.promise });
    await leasehold.enqueue(job);
    const timeouts: number[] = [];
    store.before("renew", ((_fences: unknown, { timeoutMs }: { readonly timeoutMs: number }) => {
      timeouts.push(Math.round(timeoutMs));
      throw new StoreBusyError("renew", timeoutMs);
    }) as never);
    const worker = leasehold.work([job]);
    await world.advance(5_000);
    // From a third of the lease on, of which 2.7 s are trusted; a margin at least.
    const ended = timeouts.findIndex((ms, n) => n > 0 && ms > (timeouts[n - 1] as number));
    const trusted = timeouts.slice(0, ended);
    expect(trusted[0]).toBeGreaterThan(800);
    expect(trusted[0]).toBeLessThan(1_000);
    expect(trusted.slice(1).every((ms, n) => ms <= (trusted[n] as number))).toBe(true);
    expect(trusted.at(-1)).toBe(300);
    // When trust has ended, what is not settled yet is in no hurry, and hurries nobody who is renewed with it.
    expect(new Set(timeouts.slice(ended))).toEqual(new Set([750]));
    hold.open();
    const stopping = worker.stop({ graceMs: 0 });
    await world.advance(10_000);
    await stopping;
  });

  it("keeps its pace when the wall clock is set back or forth by an hour", async () => {
    const { leasehold, world, store } = testWorld();
    const hold = gate();
    const job = defineJob({ name: "job", leaseMs: 900, run: () => hold.promise });
    await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    for (const stepMs of [-3_600_000, 3_600_000, 3_600_000]) {
      await world.advance(100);
      const before = store.called("renew");
      world.stepWall(stepMs);
      await world.advance(3_000);
      expect(store.called("renew") - before).toBeGreaterThanOrEqual(9);
    }
    hold.open();
    await worker.stop();
    expect(worker.counts).toMatchObject({ completed: 1 });
  });

  it("renews a run for no longer than maxRunMs and the grace, so that a hung one loses its lease", async () => {
    const { leasehold, world } = testWorld();
    const job = defineJob({ name: "job", leaseMs: 600, maxRunMs: 2_000, run: () => new Promise(() => {}) });
    const { jobId } = await leasehold.enqueue(job);
    const worker = leasehold.work([job], { graceMs: 1_000 });
    await world.advance(2_900);
    expect((await leasehold.counts())[0]).toMatchObject({ leased: 1, expired: 0 });
    await world.advance(800);
    const view = (await leasehold.get(jobId))!;
    expect(view.state).toBe("leased");
    expect((await leasehold.counts())[0]).toMatchObject({ leased: 1, expired: 1 });
    const stopped = worker.stop({ graceMs: 0 });
    await world.advance(2_000);
    await stopped;
  });

  it("goes on renewing a run whose handler has ended in time, whenever the store answers for its end", async () => {
    const { leasehold, world, store } = testWorld();
    const job = defineJob({ name: "job", leaseMs: 600, maxRunMs: 2_000, run: () => {} });
    const { jobId } = await leasehold.enqueue(job);
    let left = 8;
    store.before("settle", (async () => {
      if (left-- <= 0) return;
      await world.timers.sleep(1_000);
      throw new UnknownOutcomeError("settle", "time-out");
    }) as never);
    const worker = leasehold.work([job], { graceMs: 100 });
    await world.advance(6_000);
    expect((await leasehold.counts())[0]).toMatchObject({ leased: 1, expired: 0 });
    await world.advance(6_000);
    expect(await leasehold.get(jobId)).toMatchObject({ state: "completed", attempt: 1, generation: 1 });
    await worker.stop();
    expect(worker.counts).toMatchObject({ completed: 1, lost: 0 });
  });

  it("looks at deadlines with one timer, however many runs there are", async () => {
    const { leasehold, world } = testWorld();
    const hold = gate();
    const job = defineJob({ name: "job", maxRunMs: 1_000_000, run: () => hold.promise });
    await leasehold.enqueueMany(Array.from({ length: 200 }, () => ({ job })));
    const worker = leasehold.work([job], { concurrency: 200 });
    await world.advance(100);
    expect(worker.running).toBe(200);
    // The ticker, the poll, the pruner.
    expect(world.pendingTimers).toBeLessThanOrEqual(3);
    hold.open();
    await worker.stop();
    expect(world.pendingTimers).toBe(0);
  });
});
