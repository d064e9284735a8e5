import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { UnknownOutcomeError } from "../../src/errors.ts";
import type { ClaimRequest } from "../../src/stores/store.ts";
import { claimAndDie, gate, type TestWorld, testWorld } from "./world.ts";

const unreachable = (): never => {
  throw new UnknownOutcomeError("call", new Error("ECONNREFUSED"));
};

function cut({ store }: TestWorld): () => void {
  const undo = (["claim", "renew", "settle", "write"] as const).map((method) =>
    store.before(method, unreachable),
  );
  return () => {
    for (const each of undo) each();
  };
}

describe("a store out of reach (W7)", () => {
  it("is asked ever less often, says so once, and work resumes alone when it is back", async () => {
    const t = testWorld();
    const events: string[] = [];
    let ran = 0;
    const job = defineJob({ name: "job", run: () => void ran++ });
    await t.leasehold.enqueue(job);
    const mend = cut(t);
    const worker = t.leasehold.work([job]);
    worker
      .on("unreachable", () => events.push("unreachable"))
      .on("reachable", () => events.push("reachable"));
    await t.world.advance(20_000);
    expect(events).toEqual(["unreachable"]);
    expect(t.store.called("claim")).toBeLessThan(20);
    mend();
    await t.world.advance(2_500);
    expect(ran).toBe(1);
    expect(events).toEqual(["unreachable", "reachable"]);
    await worker.stop();
  });

  it("costs at most one line of log a second of each kind", async () => {
    const t = testWorld();
    const job = defineJob({ name: "job", run: () => {} });
    cut(t);
    const worker = t.leasehold.work([job], { pollMs: 10 });
    await t.world.advance(20_000);
    expect(t.log.filter(({ kind }) => kind === "claim_failed").length).toBeLessThanOrEqual(20);
    await worker.stop();
  });

  it("does not lose outcomes: they are handed over when it answers again", async () => {
    const t = testWorld();
    const holds = [gate<number>(), gate<number>(), gate<number>()];
    let begun = 0;
    const job = defineJob({ name: "job", run: () => holds[begun++]!.promise });
    const answers = await t.leasehold.enqueueMany([{ job }, { job }, { job }]);
    const worker = t.leasehold.work([job]);
    await t.world.settle();
    const mend = cut(t);
    for (const [i, hold] of holds.entries()) hold.open(i);
    await t.world.advance(5_000);
    expect(worker.counts.completed).toBe(0);
    mend();
    await t.world.advance(1_500);
    expect(worker.counts).toMatchObject({ completed: 3, lost: 0 });
    expect(await Promise.all(answers.map((answer) => t.leasehold.result(answer)))).toEqual([0, 1, 2]);
    await worker.stop();
  });

  it("leaves no timer when the worker is stopped: outcomes are not repeated any more", async () => {
    const t = testWorld();
    const hold = gate();
    const job = defineJob({ name: "job", run: () => hold.promise });
    await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    await t.world.settle();
    cut(t);
    hold.open();
    await t.world.advance(1_000);
    let hasStopped = false;
    void worker.stop().then(() => {
      hasStopped = true;
    });
    while (!hasStopped) await t.world.advance(10);
    const { pendingTimers } = t.world;
    const settles = t.store.called("settle");
    await t.world.advance(60_000);
    expect([pendingTimers, t.store.called("settle")]).toEqual([0, settles]);
  });

  it("begins what has been claimed, also in the place that was kept for a claim", async () => {
    // Wherever in the turn of claims it comes.
    for (let fromMs = 100; fromMs < 400; fromMs += 7) {
      const t = testWorld();
      const job = defineJob({ name: "job", run: ({ signal }) => t.world.timers.sleep(2, signal) });
      await t.leasehold.enqueueMany(Array.from({ length: 400 }, () => ({ job })));
      const worker = t.leasehold.work([job], { concurrency: 1, schedules: false });
      await t.world.advance(fromMs);
      const mend = t.store.before("claim", () => {
        throw new Error("unreachable");
      });
      await t.world.advance(500);
      expect((await t.leasehold.counts())[0]?.leased).toBe(0);
      mend();
      await worker.stop();
    }
  });

  it("renews first, and then for a third of a lease claims only ready jobs", async () => {
    const t = testWorld();
    const hold = gate();
    const job = defineJob({ name: "job", leaseMs: 9_000, run: () => hold.promise });
    await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job], { concurrency: 5, schedules: false });
    await t.world.advance(100);
    const mend = cut(t);
    await t.leasehold.enqueue(job);
    await t.world.advance(3_200);
    const from = t.store.calls.length;
    mend();
    // More than the longest back-off of the claimer, less than a third of the lease.
    await t.world.advance(2_900);
    const calls = t.store.calls.slice(from).filter(({ method }) => method === "claim" || method === "renew");
    expect(calls[0]?.method).toBe("renew");
    const claims = calls
      .filter(({ method }) => method === "claim")
      .map(({ args }) => args[0] as ClaimRequest);
    expect(claims.length).toBeGreaterThan(0);
    expect(claims.every(({ takeover }) => !takeover)).toBe(true);
    await t.world.advance(3_000);
    const later = t.store.calls.slice(from).filter(({ method }) => method === "claim");
    expect(later.some(({ args }) => (args[0] as ClaimRequest).takeover)).toBe(true);
    hold.open();
    await worker.stop();
  });

  it("W7 takes nothing over with the claim that ends the silence either, also of a worker that holds nothing", async () => {
    const t = testWorld();
    const job = defineJob({ name: "job", leaseMs: 3_000, run: () => {} });
    const worker = t.leasehold.work([job]);
    await t.world.advance(100);
    const mend = cut(t);
    await t.world.advance(4_000);
    const from = t.store.calls.length;
    mend();
    await t.world.advance(2_500);
    const [first] = t.store.calls.slice(from).filter(({ method }) => method === "claim");
    expect(first?.args[0]).toMatchObject({ takeover: false });
    await worker.stop();
  });

  it("for a short time changes nothing: lapsed jobs are taken over at once", async () => {
    const t = testWorld();
    let ran = 0;
    const job = defineJob({ name: "job", leaseMs: 3_000, run: () => void ran++ });
    await t.leasehold.enqueue(job);
    await claimAndDie(t.store, "job");
    await t.world.advance(3_000);
    let failures = 1;
    t.store.before("claim", () => {
      if (failures-- > 0) unreachable();
    });
    const worker = t.leasehold.work([job]);
    await t.world.advance(500);
    expect(ran).toBe(1);
    await worker.stop();
  });

  it("does not crash the process when nobody listens to its errors", async () => {
    const t = testWorld();
    const job = defineJob({ name: "job", run: () => {} });
    cut(t);
    const worker = t.leasehold.work([job]);
    await t.world.advance(1_000);
    await worker.stop();
    expect(t.log.some(({ kind }) => kind === "claim_failed")).toBe(true);
  });

  it("a listener that throws hurts nobody", async () => {
    const t = testWorld();
    const job = defineJob({ name: "job", run: () => "fine" });
    const answer = await t.leasehold.enqueue(job);
    const worker = t.leasehold.work([job]);
    worker.on("started", () => {
      throw new Error("bad listener");
    });
    worker.on("completed", () => {
      throw null;
    });
    await t.world.settle();
    expect(await t.leasehold.result(answer)).toBe("fine");
    expect(t.log.some(({ kind }) => kind === "listener")).toBe(true);
    await worker.stop();
  });
});

describe("an answer that got lost (C11)", () => {
  it("of a completion: asked again, `already` counts as completed, and the result is the first one's", async () => {
    const t = testWorld();
    const job = defineJob({ name: "job", run: () => "once" });
    const answer = await t.leasehold.enqueue(job);
    let lost = 1;
    t.store.after("settle", () => {
      if (lost-- > 0) unreachable();
    });
    const worker = t.leasehold.work([job]);
    await t.world.advance(200);
    expect(worker.counts).toMatchObject({ completed: 1, lost: 0 });
    expect(t.store.called("settle")).toBe(2);
    expect(await t.leasehold.result(answer)).toBe("once");
    await worker.stop();
  });

  it("of a failure and of a release: told as what they were", async () => {
    const t = testWorld();
    const job = defineJob({
      name: "job",
      maxAttempts: 1,
      run() {
        throw new Error("no");
      },
    });
    await t.leasehold.enqueue(job);
    let lost = 1;
    t.store.after("settle", () => {
      if (lost-- > 0) unreachable();
    });
    const worker = t.leasehold.work([job]);
    await t.world.advance(200);
    expect(worker.counts).toMatchObject({ failed: 1, lost: 0 });
    await worker.stop();
  });

  it("of a claim: its jobs lapse and are taken again (C4)", async () => {
    const t = testWorld();
    let ran = 0;
    const job = defineJob({ name: "job", leaseMs: 600, run: () => void ran++ });
    const { jobId } = await t.leasehold.enqueue(job);
    let lost = 1;
    t.store.after("claim", () => {
      if (lost-- > 0) unreachable();
    });
    const worker = t.leasehold.work([job]);
    await t.world.advance(500);
    expect(ran).toBe(0);
    await t.world.advance(2_500);
    expect(ran).toBe(1);
    expect(await t.leasehold.get(jobId)).toMatchObject({ state: "completed", attempt: 2, generation: 2 });
    await worker.stop();
  });
});

describe("outcomes in one batch", () => {
  it("are asked again one by one when the call fails for sure, so that one of them hurts only itself", async () => {
    const t = testWorld();
    const job = defineJob({ name: "job", run: ({ input }) => input });
    const answers = await t.leasehold.enqueueMany([0, 1, 2, 3, 4].map((input) => ({ job, input })));
    t.store.before("settle", ((settlements: { result: string }[]) => {
      if (settlements.some(({ result }) => result === "2")) throw new Error("this value, never");
    }) as never);
    const worker = t.leasehold.work([job]);
    await t.world.advance(3_000);
    expect(worker.counts.completed).toBe(4);
    expect(await t.leasehold.get(answers[2]!)).toMatchObject({ state: "leased" });
    const stopping = worker.stop();
    await t.world.advance(6_000);
    await stopping;
  });

  it("that the store answers `busy` are asked again, the others are not", async () => {
    const t = testWorld();
    const job = defineJob({ name: "job", run: ({ input }) => input });
    await t.leasehold.enqueueMany([0, 1, 2].map((input) => ({ job, input })));
    let busy = 2;
    const real = t.store.settle.bind(t.store);
    t.store.before("settle", () => {});
    const store = new Proxy(t.store, {
      get(target, key) {
        if (key !== "settle") return Reflect.get(target, key);
        return async (...args: Parameters<typeof real>) => {
          const members = args[0].map((one) =>
            "result" in one && one.result === "1" && busy-- > 0 ? "busy" : one,
          );
          const answers = await real(
            members.filter((one) => one !== "busy"),
            args[1],
          );
          const rest = [...answers];
          return members.map((one) => (one === "busy" ? { outcome: "busy" } : rest.shift()));
        };
      },
    });
    const { Leasehold } = await import("../../src/client/leasehold.ts");
    const worker = new Leasehold({ store, world: t.world, log: () => {} }).work([job]);
    await t.world.advance(500);
    expect(worker.counts.completed).toBe(3);
    expect(t.store.called("settle")).toBeLessThanOrEqual(4);
    await worker.stop();
  });
});
