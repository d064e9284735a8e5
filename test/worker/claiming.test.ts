import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import type { ClaimRequest } from "../../src/stores/store.ts";
import { claimAndDie, gate, type TestWorld, testWorld } from "./world.ts";

const requests = ({ store }: TestWorld): ClaimRequest[] =>
  store.calls.filter(({ method }) => method === "claim").map(({ args }) => args[0] as ClaimRequest);

describe("claiming (W1)", () => {
  it("asks for no more jobs than it has free places when nothing was started lately", async () => {
    const t = testWorld();
    const hold = gate();
    const job = defineJob({ name: "job", run: () => hold.promise });
    await t.leasehold.enqueueMany(Array.from({ length: 50 }, () => ({ job })));
    const worker = t.leasehold.work([job], { concurrency: 4 });
    await t.world.advance(0);
    expect(worker.running).toBe(4);
    await t.world.advance(200);
    const { leased } = (await t.leasehold.counts())[0]!;
    // Those that were claimed ahead are bounded by what was started within 100 ms: 4.
    expect(leased).toBeLessThanOrEqual(8);
    hold.open();
    await worker.stop();
  });

  it("claims ahead no more than it started in the last 100 ms, and never above 500", async () => {
    const t = testWorld();
    const job = defineJob({ name: "job", run: () => {} });
    await t.leasehold.enqueueMany(Array.from({ length: 3_000 }, () => ({ job })));
    let started = 0;
    let before = 0;
    t.store.before("claim", (({ limit, takeover }: ClaimRequest) => {
      expect(limit).toBeLessThanOrEqual(10 + Math.min(500, started));
      expect(limit === 1 || !takeover).toBe(true);
      before = Math.max(before, limit);
    }) as never);
    const counting = defineJob({ name: "job", run: () => void started++ });
    expect(await t.leasehold.drain([counting], { concurrency: 10 })).toMatchObject({ completed: 3_000 });
    expect(before).toBe(510);
    expect(t.store.called("claim")).toBeLessThan(30);
  });

  it("T2 begins none that has waited too long for another one to let go of the loop", async () => {
    const t = testWorld();
    const begun: number[] = [];
    const job = defineJob({
      name: "job",
      leaseMs: 1_000,
      run() {
        begun.push(begun.length);
        if (begun.length === 2) t.world.block(950); // the first claim brings one, the next one the others
      },
    });
    await t.leasehold.enqueueMany([{ job }, { job }, { job }]);
    const worker = t.leasehold.work([job], { concurrency: 5 });
    const released: string[] = [];
    worker.on("released", ({ why }) => {
      released.push(why);
    });
    await t.world.settle();
    expect(released).toEqual(["untrusted"]);
    await t.world.advance(500);
    expect(worker.counts).toMatchObject({ completed: 3, released: 1 });
    await worker.stop();
  });

  it("renews what it has claimed ahead, too", async () => {
    const t = testWorld();
    const first = gate();
    let begun = 0;
    const job = defineJob({
      name: "job",
      leaseMs: 300,
      run: () => (++begun <= 20 ? undefined : first.promise),
    });
    await t.leasehold.enqueueMany(Array.from({ length: 40 }, () => ({ job })));
    const worker = t.leasehold.work([job], { concurrency: 1 });
    await t.world.advance(2_000);
    const { leased, expired } = (await t.leasehold.counts())[0]!;
    expect(leased).toBeGreaterThan(1);
    expect(expired).toBe(0);
    first.open();
    await worker.stop();
  });

  it("lets its queues take turns at the front", async () => {
    const t = testWorld();
    const a = defineJob({ name: "a", run: () => {} });
    const b = defineJob({ name: "b", run: () => {} });
    const worker = t.leasehold.work([a, b]);
    await t.world.advance(500);
    const fronts = requests(t).map(({ queues }) => queues[0]);
    expect(new Set(fronts)).toEqual(new Set(["a", "b"]));
    expect(fronts[0]).not.toBe(fronts[1]);
    await worker.stop();
  });

  it("starts a job at once when it is enqueued while the worker sleeps", async () => {
    const { leasehold, world } = testWorld();
    let ran = 0;
    const job = defineJob({ name: "job", run: () => void ran++ });
    const worker = leasehold.work([job]);
    await world.advance(60_000);
    await leasehold.enqueue(job);
    await world.settle();
    expect(ran).toBe(1);
    await worker.stop();
  });

  it("starts a job at once also after it was woken for nothing", async () => {
    const { leasehold, world } = testWorld();
    let ran = 0;
    const job = defineJob({ name: "job", run: () => void ran++ });
    const elsewhere = defineJob({ name: "elsewhere", run: () => {} });
    const worker = leasehold.work([job]);
    await world.advance(60_000);
    for (const n of [1, 2, 3]) {
      await leasehold.enqueue(elsewhere); // rings for everybody
      await world.settle();
      await leasehold.enqueue(job);
      await world.settle();
      expect(ran).toBe(n);
    }
    await worker.stop();
  });

  it("claims once for a job that wakes it, and nobody else claims", async () => {
    const t = testWorld();
    let ran = 0;
    const end = gate();
    const run = (): Promise<void> => {
      ran++;
      return end.promise;
    };
    const job = defineJob({ name: "job", run });
    const workers = [1, 2, 3].map(() => t.leasehold.work([job], { pollMs: 60_000 }));
    await t.world.advance(1_000);
    for (let n = 1; n <= 9; n++) {
      const before = t.store.called("claim");
      await t.leasehold.enqueue(job);
      await t.world.settle();
      expect(ran).toBe(n);
      expect(t.store.called("claim") - before).toBe(1);
      await t.world.advance(1_000);
      expect(t.store.called("claim") - before).toBe(2); // for what has lapsed, which the job has overtaken
    }
    end.open();
    for (const worker of workers) await worker.stop();
  });

  it("takes a lapsed job over within 250 ms, though it is called for ready ones all the time", async () => {
    const t = testWorld();
    const ran: string[] = [];
    const job = defineJob({ name: "job", leaseMs: 300, run: ({ job: { id } }) => void ran.push(id) });
    const worker = t.leasehold.work([job], { pollMs: 60_000 });
    await t.world.advance(1_000);
    await worker.stop();
    const { jobId } = await t.leasehold.enqueue(job);
    await claimAndDie(t.store, "job");
    const another = t.leasehold.work([job], { pollMs: 60_000 });
    await t.world.advance(290);
    for (let ms = 0; ms < 260; ms += 20) {
      await t.leasehold.enqueue(job);
      await t.world.advance(20);
    }
    expect(ran).toContain(jobId);
    await another.stop();
  });

  it("finds by polling what no bell announced, within 2.4 s", async () => {
    const t = testWorld();
    let ran = 0;
    const job = defineJob({ name: "job", run: () => void ran++ });
    const deaf = new Proxy(t.store, {
      get: (target, key) => (key === "listen" ? () => ({ arm() {}, close() {} }) : Reflect.get(target, key)),
    });
    const { Leasehold } = await import("../../src/client/leasehold.ts");
    const worker = new Leasehold({ store: deaf, world: t.world }).work([job]);
    await t.world.advance(60_000);
    await t.leasehold.enqueue(job);
    await t.world.settle();
    expect(ran).toBe(0);
    await t.world.advance(2_400);
    expect(ran).toBe(1);
    await worker.stop();
  });

  it("polls an empty store ever less often, down to every 2 s", async () => {
    const t = testWorld();
    const job = defineJob({ name: "job", run: () => {} });
    const worker = t.leasehold.work([job], { pollMs: 50 });
    await t.world.advance(10_000);
    const settled = t.store.called("claim");
    expect(settled).toBeLessThan(16);
    await t.world.advance(20_000);
    expect(t.store.called("claim") - settled).toBeGreaterThanOrEqual(8);
    expect(t.store.called("claim") - settled).toBeLessThanOrEqual(13);
    await worker.stop();
  });

  it("wakes for a delayed job when it is due, and never before", async () => {
    const { leasehold, world } = testWorld();
    const ran: number[] = [];
    const job = defineJob({ name: "job", run: () => void ran.push(world.clock.monotonicMs()) });
    const fromMs = world.clock.monotonicMs();
    await leasehold.enqueue(job, null, { delayMs: 1_234 });
    const worker = leasehold.work([job]);
    await world.advance(1_233);
    expect(ran).toEqual([]);
    await world.advance(5);
    expect(ran.length).toBe(1);
    expect(ran[0]! - fromMs).toBeGreaterThanOrEqual(1_234);
    await worker.stop();
  });

  it("runs a job that is due in a hundred years neither now nor by a timer that overflows", async () => {
    const { leasehold, world } = testWorld();
    let ran = 0;
    const job = defineJob({ name: "job", run: () => void ran++ });
    await leasehold.enqueue(job, null, { delayMs: 100 * 365 * 86_400_000 });
    const worker = leasehold.work([job]);
    await world.advance(20_000);
    expect(ran).toBe(0);
    await worker.stop();
  });

  it("leaves a paused queue alone until it is resumed", async () => {
    const { leasehold, world } = testWorld();
    let ran = 0;
    const job = defineJob({ name: "job", run: () => void ran++ });
    await leasehold.pauseQueue("job");
    await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.advance(5_000);
    expect(ran).toBe(0);
    await leasehold.resumeQueue("job");
    await world.advance(2_400);
    expect(ran).toBe(1);
    await worker.stop();
  });

  it("takes a lapsed job over within 250 ms, though it is busy with ready ones", async () => {
    const t = testWorld();
    const lapsed = defineJob({ name: "job", leaseMs: 300, run: () => {} });
    const { jobId } = await t.leasehold.enqueue(lapsed);
    await claimAndDie(t.store, "job");
    await t.world.advance(300);
    let began: number | undefined;
    const busy = defineJob({
      name: "job",
      async run({ job }) {
        if (job.id === jobId) began ??= t.world.clock.monotonicMs();
        else await t.world.timers.sleep(10);
      },
    });
    await t.leasehold.enqueueMany(Array.from({ length: 500 }, () => ({ job: busy })));
    const fromMs = t.world.clock.monotonicMs();
    const worker = t.leasehold.work([busy], { concurrency: 2 });
    await t.world.advance(260);
    expect(began).toBeDefined();
    expect(began! - fromMs).toBeLessThanOrEqual(250);
    const stopped = worker.stop({ graceMs: 0 });
    await t.world.advance(3_000);
    await stopped;
  });

  it("does not run a job whose grant came back later than its lease could be trusted (T2)", async () => {
    const t = testWorld();
    let ran = 0;
    const job = defineJob({ name: "job", leaseMs: 1_000, run: () => void ran++ });
    const { jobId } = await t.leasehold.enqueue(job);
    const released: string[] = [];
    const undo = t.store.after("claim", async () => {
      undo();
      t.world.block(950);
    });
    const worker = t.leasehold.work([job]).on("released", ({ why }) => released.push(why));
    await t.world.settle();
    expect(released).toEqual(["untrusted"]);
    await t.world.advance(100);
    expect(ran).toBe(1);
    expect(await t.leasehold.get(jobId)).toMatchObject({ state: "completed", attempt: 1, generation: 2 });
    await worker.stop();
  });

  it("gives back what a claim brings that is answered after the stop", async () => {
    const t = testWorld();
    const answer = gate();
    let ran = 0;
    const job = defineJob({ name: "job", run: () => void ran++ });
    const { jobId } = await t.leasehold.enqueue(job);
    t.store.after("claim", () => answer.promise);
    const worker = t.leasehold.work([job]);
    await t.world.settle();
    const stopped = worker.stop();
    await t.world.settle();
    answer.open();
    await stopped;
    expect(ran).toBe(0);
    expect(await t.leasehold.get(jobId)).toMatchObject({ state: "ready", attempt: 0 });
  });
});
