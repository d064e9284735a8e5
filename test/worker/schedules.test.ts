import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import type { LogEntry } from "../../src/client/log.ts";
import { manualWorld } from "../../src/clock/manual.ts";
import { StoreUnusableError, UnknownOutcomeError } from "../../src/errors.ts";
import { slotJobId } from "../../src/protocol/schedule.ts";
import { memory } from "../../src/stores/memory/index.ts";
import { template, write } from "../../src/testing/conformance/schedule-fixtures.ts";
import { faulty } from "./faulty-store.ts";

const START_MS = Date.UTC(2026, 0, 5, 8, 0);
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const CALL = { timeoutMs: 5_000 };

/** Claimers that poll seldom: hours pass in these tests, turn by turn. */
const SLOW = { pollMs: 60_000, renewer: "inline" } as const;

const job = defineJob({ name: "tick", run() {} });
const other = defineJob({ name: "other", run() {} });

/** The store's clock and the worker's are steps of one hand; `storeAheadMs` sets the store's. */
function setUp() {
  const world = manualWorld({ wallMs: START_MS });
  const log: LogEntry[] = [];
  const clock = { storeAheadMs: 0 };
  const origin = START_MS - world.clock.monotonicMs();
  const nowMs = (): number => Math.floor(origin + world.clock.monotonicMs() + clock.storeAheadMs);
  const inner = memory({ nowMs, timers: world.timers });
  const store = faulty(inner);
  const leasehold = new Leasehold({ store, world, log: (entry) => void log.push(entry) });
  /** The slots that were enqueued, in order. */
  const slots = async (name: string, candidates: readonly number[]): Promise<number[]> => {
    const ids = candidates.map((slot) => slotJobId(name, slot));
    const found = await inner.get(ids);
    return candidates.filter((_, n) => found[n] !== undefined);
  };
  const jobCount = async (): Promise<number> => (await inner.list({}, { limit: 100_000 })).jobs.length;
  return { world, log, clock, inner, store, leasehold, slots, jobCount };
}

const from = (startMs: number, stepMs: number, count: number): number[] =>
  Array.from({ length: count }, (_, n) => startMs + (n + 1) * stepMs);

describe("a worker", () => {
  it("enqueues each slot when it comes, within a tenth of a second, and tells so", async () => {
    const t = setUp();
    await t.leasehold.schedule("ticks", { cron: "*/30 * * * * *", job });
    const worker = t.leasehold.work([job]);
    const told: { slotMs: number; lateMs: number }[] = [];
    worker.on("scheduled", ({ schedule, slotMs, lateMs, answer }) => {
      expect([schedule, answer]).toEqual([
        "ticks",
        { outcome: "enqueued", jobId: slotJobId("ticks", slotMs) },
      ]);
      told.push({ slotMs, lateMs });
    });
    await t.world.advance(10 * MINUTE_MS + 200);
    expect(told.map(({ slotMs }) => slotMs)).toEqual(from(START_MS, 30_000, 20));
    expect(Math.max(...told.map(({ lateMs }) => lateMs))).toBeLessThan(100);
    expect(worker.counts.completed).toBe(20);
    await worker.stop();
    expect(t.world.pendingTimers).toBe(0);
  });

  it("does so for jobs that it does not know, and for schedules that another process makes while it works", async () => {
    const t = setUp();
    const worker = t.leasehold.work([other]);
    await t.world.advance(MINUTE_MS);
    const elsewhere = new Leasehold({ store: t.inner, world: t.world, log: () => {} });
    await elsewhere.schedule("ticks", { everyMs: 10_000, job });
    await t.world.advance(MINUTE_MS + 200);
    expect(await t.jobCount()).toBe(6);
    await worker.stop();
  });

  it("looks at once when its own process has changed a schedule, also during a look", async () => {
    const t = setUp();
    const worker = t.leasehold.work([job]);
    await t.world.advance(1_000);
    await t.leasehold.schedule("ticks", { everyMs: 2_000, job });
    await t.world.advance(1_100);
    expect(await t.jobCount()).toBe(1);
    const mend = t.store.before("schedules.due", async () => {
      mend();
      await t.leasehold.schedule("more", { everyMs: 1_000, job });
    });
    await t.world.advance(3_000);
    expect(await t.slots("more", from(START_MS + 2_000, 1_000, 10))).not.toEqual([]);
    await worker.stop();
  });

  it("leaves schedules alone when told so, and a drain always does", async () => {
    const t = setUp();
    await t.leasehold.schedule("ticks", { everyMs: 10_000, job });
    const worker = t.leasehold.work([job], { schedules: false });
    await t.world.advance(MINUTE_MS);
    await worker.stop();
    const draining = t.leasehold.drain([job]);
    await t.world.settle();
    await draining;
    expect(t.store.called("schedules.due")).toBe(0);
    expect(await t.jobCount()).toBe(0);
  });

  it("goes on with its schedule whatever becomes of the jobs", async () => {
    const t = setUp();
    const failing = defineJob({
      name: "failing",
      maxAttempts: 1,
      run() {
        throw new Error("no");
      },
    });
    await t.leasehold.schedule("ticks", { everyMs: 10_000, job: failing });
    const worker = t.leasehold.work([failing]);
    await t.world.advance(MINUTE_MS + 200);
    expect(worker.counts.failed).toBe(6);
    expect(await t.slots("ticks", from(START_MS, 10_000, 6))).toHaveLength(6);
    await worker.stop();
  });
});

describe("ten workers", () => {
  it("enqueue each slot once, over restarts of each of them", async () => {
    const t = setUp();
    await t.leasehold.schedule("ticks", { everyMs: 6_000, job });
    const start = () => t.leasehold.work([job]);
    const workers = Array.from({ length: 10 }, start);
    for (let n = 0; n < 40; n++) {
      await t.world.advance(3_000);
      const stopping = workers.shift()?.stop();
      await t.world.settle();
      await stopping;
      workers.push(start());
    }
    await t.world.advance(200);
    const expected = from(START_MS, 6_000, 20);
    expect(await t.slots("ticks", expected)).toEqual(expected);
    expect(await t.jobCount()).toBe(expected.length);
    for (const worker of workers) await worker.stop();
  });

  it("look a dozen times a minute each when there is no schedule, and write nothing", async () => {
    const t = setUp();
    const workers = Array.from({ length: 10 }, () => t.leasehold.work([job]));
    await t.world.advance(10 * MINUTE_MS);
    expect(t.store.called("schedules.due")).toBeLessThanOrEqual(10 * 10 * 12 + 10);
    expect(t.store.called("schedules.fire")).toBe(0);
    for (const worker of workers) await worker.stop();
  });

  it("mostly find a slot fired by the first of them", async () => {
    const t = setUp();
    await t.leasehold.schedule("minute", { everyMs: MINUTE_MS, job });
    const workers = Array.from({ length: 10 }, () => t.leasehold.work([job]));
    await t.world.advance(20 * MINUTE_MS + 500);
    expect(await t.jobCount()).toBe(20);
    expect(t.store.called("schedules.fire")).toBeLessThan(30);
    for (const worker of workers) await worker.stop();
  });
});

describe("10,000 schedules", () => {
  it("that are due at one moment are all enqueued, each once, though five workers do it", {
    timeout: 60_000,
  }, async () => {
    const t = setUp();
    const revision = "1";
    for (let n = 0; n < 10_000; n++) {
      const schedule = write({
        name: `schedule ${n}`,
        timing: { everyMs: 5_000 },
        template: template({ queue: "tick", name: "tick" }),
        revision,
        nextSlotMs: START_MS + 5_000,
        covered: [[START_MS, START_MS]],
      });
      await t.inner.schedules.put(schedule, undefined, CALL);
    }
    const workers = Array.from({ length: 5 }, () => t.leasehold.work([other], { renewer: "inline" }));
    await t.world.advance(5_000 + 2_000);
    expect(await t.jobCount()).toBe(10_000);
    for (const worker of workers) await worker.stop();
  });
});

describe("a store that gives trouble", () => {
  it("and loses the answer to a firing gets it once all the same", async () => {
    const t = setUp();
    await t.leasehold.schedule("ticks", { everyMs: 10_000, job });
    const worker = t.leasehold.work([job], SLOW);
    let lost = 0;
    t.store.after("schedules.fire", () => {
      if (lost++ % 2 === 0) throw new UnknownOutcomeError("fire", new Error("lost"));
    });
    await t.world.advance(2 * MINUTE_MS + 6_000);
    expect(await t.slots("ticks", from(START_MS, 10_000, 12))).toHaveLength(12);
    expect(await t.jobCount()).toBe(12);
    expect(t.log.filter(({ kind }) => kind === "schedule_failed")).not.toEqual([]);
    await worker.stop();
  });

  it("and is out of reach for less than a minute costs no slot; for longer it is as catchUp says", async () => {
    const t = setUp();
    await t.leasehold.schedule("one", { everyMs: 10_000, job });
    await t.leasehold.schedule("skip", { everyMs: 10_000, job, catchUp: "skip" });
    await t.leasehold.schedule("last 20", { everyMs: 10_000, job, catchUp: { atMost: 20 } });
    const worker = t.leasehold.work([job], SLOW);
    const cut = (): (() => void) =>
      t.store.before("schedules.due", () => {
        throw new StoreUnusableError("it is out of reach", { next: "" });
      });
    await t.world.advance(15_000);
    let mend = cut();
    await t.world.advance(50_000);
    mend();
    await t.world.advance(10_000);
    const first = from(START_MS, 10_000, 7);
    for (const name of ["one", "skip", "last 20"]) expect(await t.slots(name, first), name).toEqual(first);

    mend = cut();
    await t.world.advance(2 * HOUR_MS);
    mend();
    await t.world.advance(6_000);
    const missed = from(START_MS + 70_000, 10_000, 720);
    expect(await t.slots("one", missed)).toEqual(missed.slice(-6));
    expect(await t.slots("skip", missed)).toEqual(missed.slice(-6));
    expect(await t.slots("last 20", missed)).toEqual(missed.slice(-20));
    await worker.stop();
  });

  it("and refuses one of many firings gets the others", async () => {
    const t = setUp();
    for (const name of ["a", "b", "c"]) await t.leasehold.schedule(name, { everyMs: 10_000, job });
    t.store.before("schedules.fire", ((firings: readonly { name: string }[]) => {
      if (firings.some(({ name }) => name === "b")) throw new Error("a value that no column takes");
    }) as never);
    const worker = t.leasehold.work([job], SLOW);
    await t.world.advance(10_200);
    const [slot] = from(START_MS, 10_000, 1) as [number];
    expect(await Promise.all(["a", "b", "c"].map((name) => t.slots(name, [slot])))).toEqual([
      [slot],
      [],
      [slot],
    ]);
    await worker.stop();
  });

  it("and has a schedule that this version cannot read still has the others fired", async () => {
    const t = setUp();
    await t.leasehold.schedule("good", { everyMs: 10_000, job });
    const strange = write({
      name: "strange",
      timing: { cron: "of a later version", zone: "UTC" },
      nextSlotMs: START_MS,
    });
    await t.inner.schedules.put(strange, undefined, CALL);
    const worker = t.leasehold.work([job], SLOW);
    await t.world.advance(10_200);
    expect(await t.jobCount()).toBe(1);
    expect(t.log[0]?.message).toMatch(/"strange" cannot be read/);
    expect(t.store.called("schedules.due")).toBeLessThan(10);
    await worker.stop();
  });
});

describe("T5 the store's clock is set while workers work", () => {
  it("ahead by two hours or a year and back: no slot twice, none lost, no flood, and no sleep of a year", async () => {
    for (const byMs of [2 * HOUR_MS, YEAR_MS]) {
      const t = setUp();
      await t.leasehold.schedule("minute", { everyMs: MINUTE_MS, job });
      await t.leasehold.schedule("daily", { cron: "0 12 * * *", job });
      const workers = [t.leasehold.work([job], SLOW), t.leasehold.work([job], SLOW)];
      // Told by events: a store whose clock is a year ahead prunes what it has just ended.
      const told = { minute: [] as number[], daily: [] as number[] };
      for (const worker of workers)
        worker.on("scheduled", ({ schedule, slotMs, answer }) => {
          if (answer.outcome === "enqueued") told[schedule as keyof typeof told].push(slotMs);
        });
      await t.world.advance(5 * MINUTE_MS + 1_000);
      t.clock.storeAheadMs = byMs;
      await t.world.advance(10_000);
      expect(told.minute.length + told.daily.length - 5).toBeLessThanOrEqual(3);
      t.clock.storeAheadMs = 0;
      await t.world.advance(5 * HOUR_MS);
      for (const [name, slots] of Object.entries(told)) expect(new Set(slots).size, name).toBe(slots.length);
      const endMs = START_MS + 5 * HOUR_MS + 5 * MINUTE_MS;
      const past = told.minute.filter((slot) => slot <= endMs).sort();
      expect(past).toEqual(from(START_MS, MINUTE_MS, 305));
      expect(told.daily.filter((slot) => slot <= endMs)).toEqual([START_MS + 4 * HOUR_MS]);
      for (const worker of workers) await worker.stop();
    }
  });

  it("back by two hours: what was fired is not fired again, and it goes on where it was", async () => {
    const t = setUp();
    await t.leasehold.schedule("minute", { everyMs: MINUTE_MS, job });
    const worker = t.leasehold.work([job], SLOW);
    await t.world.advance(3 * HOUR_MS + 1_000);
    const before = await t.jobCount();
    t.clock.storeAheadMs = -2 * HOUR_MS;
    await t.world.advance(2 * HOUR_MS - 2_000);
    expect(await t.jobCount()).toBe(before);
    await t.world.advance(10 * MINUTE_MS + 2_000);
    expect(await t.jobCount()).toBe(before + 10);
    await worker.stop();
  });
});
