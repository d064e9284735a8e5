import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { claimAndDie, type Gate, gate, type TestWorld, testWorld } from "./world.ts";

/** Lets the jobs of the queue lapse so many times in a row. */
async function lapse(t: TestWorld, times: number, limit = 100): Promise<void> {
  for (let i = 0; i < times; i++) {
    await claimAndDie(t.store, "job", limit);
    await t.world.advance(1_000);
  }
}

describe("a job whose last claim lapsed (W8)", () => {
  it("knows who held it before", async () => {
    const t = testWorld();
    let previous: unknown;
    const job = defineJob({
      name: "job",
      leaseMs: 1_000,
      run(context) {
        previous = context.job.previous;
      },
    });
    await t.leasehold.enqueue(job);
    const [dead] = await claimAndDie(t.store, "job");
    await t.world.advance(1_500);
    await t.leasehold.drain([job]);
    expect(previous).toEqual({ owner: dead?.job.owner, generation: 1, endedAgoMs: 500 });
  });

  it("is claimed one at a time into a free place, so it never waits behind others", async () => {
    const t = testWorld();
    const job = defineJob({ name: "job", leaseMs: 1_000, run: () => hold.promise });
    const hold = gate();
    await t.leasehold.enqueueMany(Array.from({ length: 30 }, () => ({ job })));
    await lapse(t, 1);
    const worker = t.leasehold.work([job], { concurrency: 4 });
    await t.world.advance(100);
    expect(worker.running).toBe(4);
    const [counts] = await t.leasehold.counts();
    // 4 are ours; the other 26 are still those of the dead one.
    expect(counts).toMatchObject({ leased: 30, expired: 26 });
    hold.open();
    const stopping = worker.stop();
    await t.world.advance(10);
    await stopping;
  });

  it("of a dead worker are all run again", async () => {
    const t = testWorld();
    const job = defineJob({ name: "job", leaseMs: 1_000, run: () => {} });
    await t.leasehold.enqueueMany(Array.from({ length: 300 }, () => ({ job })));
    await lapse(t, 1, 500);
    expect(await t.leasehold.drain([job])).toMatchObject({ completed: 300 });
  });
});

describe("a suspect (W8)", () => {
  it("that is lost before it has begun keeps nobody from claiming any more", async () => {
    const t = testWorld();
    const begun: unknown[] = [];
    const hold = gate();
    const job = defineJob({
      name: "job",
      leaseMs: 1_000,
      async run({ input }) {
        begun.push(input);
        await hold.promise;
      },
    });
    const suspect = await t.leasehold.enqueue(job, "suspect");
    await lapse(t, 2);
    await t.leasehold.enqueue(job, "first", { priority: -1 });
    const worker = t.leasehold.work([job], { concurrency: 3 });
    await t.world.advance(300);
    await t.leasehold.enqueue(job, "second");
    await t.world.advance(300);
    expect(begun).toEqual(["first"]);
    await t.leasehold.revoke(suspect);
    await t.leasehold.cancel(suspect);
    await t.world.advance(1_000);
    expect(worker.counts).toMatchObject({ lost: 1 });
    expect(begun).toEqual(["first", "second"]);
    hold.open();
    const stopping = worker.stop();
    await t.world.advance(10);
    await stopping;
  });

  it("after two lapses in a row runs alone: what waits is given back, what runs ends, nothing else starts", async () => {
    const t = testWorld();
    const gates = new Map<string, Gate>();
    const log: string[] = [];
    const job = defineJob({
      name: "job",
      leaseMs: 1_000,
      async run({ input }) {
        log.push(`begins ${input}`);
        const hold = gate();
        gates.set(String(input), hold);
        await hold.promise;
        log.push(`ends ${input}`);
      },
    });
    await t.leasehold.enqueue(job, "suspect");
    await lapse(t, 2);
    await t.leasehold.enqueue(job, "a", { priority: -1 });
    await t.leasehold.enqueue(job, "b", { priority: -1 });
    const worker = t.leasehold.work([job], { concurrency: 3 });
    await t.world.advance(300);
    expect(log).toEqual(["begins a", "begins b"]);
    await t.leasehold.enqueue(job, "c");
    await t.world.advance(3_000);
    expect(log).toEqual(["begins a", "begins b"]);
    gates.get("a")!.open();
    await t.world.advance(100);
    expect(log.slice(2)).toEqual(["ends a"]);
    gates.get("b")!.open();
    await t.world.advance(100);
    expect(log.slice(3)).toEqual(["ends b", "begins suspect"]);
    await t.world.advance(5_000);
    expect(log.length).toBe(5);
    gates.get("suspect")!.open();
    await t.world.advance(300);
    expect(log.slice(5)).toEqual(["ends suspect", "begins c"]);
    gates.get("c")!.open();
    await worker.stop();
    expect(worker.counts).toMatchObject({ completed: 4, lost: 0, failed: 0 });
  });

  it("begins only when the store has answered for all that ran or waited beside it, which its crash would lose", async () => {
    const t = testWorld();
    const begun: unknown[] = [];
    const hold = gate();
    const job = defineJob({
      name: "job",
      leaseMs: 1_000,
      async run({ input }) {
        begun.push(input);
        if (input === "neighbour") await hold.promise;
      },
    });
    await t.leasehold.enqueue(job, "suspect");
    await lapse(t, 2);
    await t.leasehold.enqueue(job, "neighbour", { priority: -1 });
    const worker = t.leasehold.work([job], { concurrency: 3 });
    await t.world.advance(300);
    expect(begun).toEqual(["neighbour"]);
    const answer = gate();
    t.store.after("settle", () => answer.promise);
    hold.open();
    await t.world.advance(300);
    expect(t.store.called("settle")).toBe(1);
    expect(begun).toEqual(["neighbour"]);
    answer.open();
    await t.world.advance(300);
    expect(begun).toEqual(["neighbour", "suspect"]);
    await worker.stop();
    expect(worker.counts).toMatchObject({ completed: 2, lost: 0 });
  });

  it("is also the one before its last attempt when the one before lapsed", async () => {
    const t = testWorld();
    const alone: number[] = [];
    let running = 0;
    const job = defineJob({
      name: "job",
      leaseMs: 1_000,
      maxAttempts: 2,
      async run({ job: { attempt } }) {
        running++;
        if (attempt === 2) alone.push(running);
        await t.world.timers.sleep(50);
        running--;
      },
    });
    await t.leasehold.enqueue(job);
    await lapse(t, 1);
    await t.leasehold.enqueueMany(Array.from({ length: 5 }, () => ({ job })));
    const worker = t.leasehold.work([job]);
    await t.world.advance(1_000);
    expect(alone).toEqual([1]);
    expect(worker.counts.completed).toBe(6);
    await worker.stop();
  });

  it("several of them run one after the other, though none of them is the culprit", async () => {
    const t = testWorld();
    let most = 0;
    let running = 0;
    const job = defineJob({
      name: "job",
      leaseMs: 1_000,
      async run() {
        most = Math.max(most, ++running);
        await t.world.timers.sleep(20);
        running--;
      },
    });
    await t.leasehold.enqueueMany(Array.from({ length: 10 }, () => ({ job })));
    await lapse(t, 2);
    const worker = t.leasehold.work([job]);
    await t.world.advance(2_000);
    expect(worker.counts.completed).toBe(10);
    expect(most).toBe(1);
    await worker.stop();
  });

  it("is ended as failed by the claim that finds it without attempts, and the worker tells (C12)", async () => {
    const t = testWorld();
    let ran = 0;
    const job = defineJob({ name: "job", leaseMs: 1_000, maxAttempts: 3, run: () => void ran++ });
    const { jobId } = await t.leasehold.enqueue(job);
    await lapse(t, 3);
    const expired: unknown[] = [];
    const worker = t.leasehold.work([job]).on("expired", (event) => expired.push(event));
    await t.world.advance(500);
    expect(ran).toBe(0);
    expect(expired).toEqual([{ id: jobId, name: "job", state: "failed", endReason: "lease_expired" }]);
    expect(worker.counts).toMatchObject({ failed: 1 });
    await worker.stop();
  });

  it("costs its neighbours nothing when it kills process after process: they complete, it ends as failed", async () => {
    const t = testWorld();
    let starts = 0;
    let die = (): void => {};
    const job = defineJob({
      name: "job",
      leaseMs: 1_000,
      maxAttempts: 4,
      run({ input }) {
        if (input !== "poison") return undefined;
        starts++;
        die();
        return new Promise(() => {});
      },
    });
    const inputs = Array.from({ length: 12 }, (_, i) => (i === 5 ? "poison" : i));
    const answers = await t.leasehold.enqueueMany(inputs.map((input) => ({ job, input })));
    for (let incarnation = 0; incarnation < 6; incarnation++) {
      const process = t.mortal();
      die = process.kill;
      process.leasehold.work([job], { concurrency: 4 });
      await t.world.advance(3_000);
      process.kill();
    }
    const views = await t.leasehold.getMany(answers);
    expect(views.filter((view) => view?.state === "completed").length).toBe(11);
    expect(views[5]).toMatchObject({ state: "failed", endReason: "lease_expired" });
    expect(starts).toBe(4);
  });
});
