import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineJob } from "../../src/client/define-job.ts";
import type { RunContext } from "../../src/client/handler.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import type { LogEntry } from "../../src/client/log.ts";
import { manualWorld } from "../../src/clock/manual.ts";
import { GoneError, InvalidArgumentError, SchemaMismatchError } from "../../src/errors.ts";
import { slotJobId } from "../../src/protocol/schedule.ts";
import { memory } from "../../src/stores/memory/index.ts";
import { faulty } from "../worker/faulty-store.ts";

const START_MS = Date.UTC(2026, 0, 5, 8, 30);
const HOUR_MS = 3_600_000;
const NINE_MS = START_MS + HOUR_MS / 2;

function setUp() {
  const world = manualWorld({ wallMs: START_MS });
  const log: LogEntry[] = [];
  const store = faulty(memory({ nowMs: world.clock.wallMs, timers: world.timers }));
  const leasehold = new Leasehold({ store, world, log: (entry) => void log.push(entry) });
  const jobs = async () => (await leasehold.list()).jobs;
  return { world, log, store, leasehold, jobs };
}

const report = defineJob({
  name: "report",
  run: ({ input }: RunContext<{ to: string } | null>) => input?.to,
});
type Bill = { region: string; at: number };
const daily = { cron: "0 9 * * *", job: report, input: { to: "Ada" } } as const;

describe("schedule()", () => {
  it("makes a schedule, due at the first slot after the store's present time", async () => {
    const { leasehold, world } = setUp();
    const made = await leasehold.schedule("daily", { ...daily, queue: "reports", priority: 2 });
    expect(made).toEqual({
      outcome: "created",
      schedule: {
        name: "daily",
        version: 0,
        cron: "0 9 * * *",
        zone: "UTC",
        everyMs: undefined,
        catchUp: "one",
        jobName: "report",
        queue: "reports",
        input: { to: "Ada" },
        paused: false,
        nextSlotMs: NINE_MS,
        lastSlotMs: undefined,
        lastJobId: undefined,
        createdAtMs: world.clock.wallMs(),
        changedAtMs: world.clock.wallMs(),
      },
    });
    expect(await leasehold.schedules.get("daily")).toEqual(made.schedule);
  });

  it("writes nothing when the definition is the same, whoever calls it and however often", async () => {
    const { leasehold, store } = setUp();
    const spec = {
      ...daily,
      zone: "Europe/Berlin",
      backoff: { baseMs: 5 },
      unique: { key: "k" },
      resource: "r",
    };
    await leasehold.schedule("daily", spec);
    for (let n = 0; n < 3; n++)
      expect((await leasehold.schedule("daily", { ...spec })).outcome).toBe("unchanged");
    expect(store.called("schedules.put")).toBe(1);
  });

  it("computes resource and key at once, from the input, and checks the input by the job's schema", async () => {
    const { leasehold, store, world } = setUp();
    const job = defineJob({
      name: "credit",
      input: z.object({ account: z.string() }),
      resource: ({ account }) => `account:${account}`,
      unique: ({ account }) => ({ key: account, onConflict: "throw" }),
      run() {},
    });
    await leasehold.schedule("credit", { everyMs: HOUR_MS, job, input: { account: "42" } });
    const { schedule } = await store.schedules.get("credit", { timeoutMs: 1_000 });
    expect(schedule?.template).toMatchObject({
      resource: "account:42",
      unique: { key: "42", onConflict: "throw" },
    });
    const wrong = { everyMs: HOUR_MS, job, input: { account: 42 } };
    // @ts-expect-error the input's type is the job's
    await expect(leasehold.schedule("wrong", wrong)).rejects.toThrow(SchemaMismatchError);
    expect(world.pendingTimers).toBe(0);
  });

  it("gives each slot's own time to the input where slotAs says, and wants the rest of the input only", async () => {
    const { leasehold, store, world } = setUp();
    const job = defineJob({
      name: "bill",
      input: z.object({ region: z.string(), at: z.number() }),
      run: ({ input }) => input.at,
    });
    await leasehold.schedule("bill", { cron: "0 9 * * *", job, slotAs: "at", input: { region: "eu" } });
    const worker = leasehold.work([job]);
    await world.advance(HOUR_MS);
    expect(await leasehold.result(slotJobId("bill", NINE_MS))).toBe(NINE_MS);
    await worker.stop();
    const partial: Parameters<typeof leasehold.schedule<Bill, number, "at">>[1] = {
      cron: "0 9 * * *",
      job,
      slotAs: "at",
      // @ts-expect-error `region` is missing
      input: {},
    };
    await expect(leasehold.schedule("bill", partial)).rejects.toThrow(SchemaMismatchError);
    const twice = { cron: "0 9 * * *", job, slotAs: "at", input: { region: "eu", at: 1 } } as const;
    await expect(leasehold.schedule("bill", twice)).rejects.toThrow(/slotAs/);
    expect(store.called("schedules.put")).toBe(1);
  });

  it("refuses what is no schedule with what was received, and asks the store nothing", async () => {
    const { leasehold, store } = setUp();
    const refused: [string, Record<string, unknown>][] = [
      ["cron", { job: report }],
      ["cron", { job: report, cron: "99 * * * *" }],
      ["cron", { job: report, cron: "0 0 0 1 1 * 2020" }],
      ["zone", { job: report, cron: "* * * * *", zone: "Moon" }],
      ["zone", { job: report, everyMs: 60_000, zone: "UTC" }],
      ["everyMs", { job: report, everyMs: 10 }],
      ["everyMs", { job: report, everyMs: 60_000, cron: "* * * * *" }],
      ["catchUp", { job: report, everyMs: 60_000, catchUp: "all" }],
      ["catchUp", { job: report, everyMs: 60_000, catchUp: { atMost: 0 } }],
      ["version", { job: report, everyMs: 60_000, version: -1 }],
      ["version", { job: report, everyMs: 60_000, version: 1.5 }],
      ["spec", { job: report, everyMs: 60_000, delayMs: 5 }],
      ["job", { job: "report", everyMs: 60_000 }],
      ["leaseMs", { job: report, everyMs: 60_000, leaseMs: 1 }],
      ["input", { job: report, everyMs: 60_000, slotAs: "at" }],
    ];
    for (const [argument, spec] of refused) {
      const refusal = await leasehold.schedule("daily", spec as never).catch((error: unknown) => error);
      expect(refusal, JSON.stringify(spec)).toBeInstanceOf(InvalidArgumentError);
      expect(refusal, JSON.stringify(spec)).toMatchObject({ argument });
    }
    await expect(leasehold.schedule("", daily)).rejects.toMatchObject({ argument: "name", received: "" });
    expect(store.calls).toEqual([]);
  });
});

describe("two releases with different definitions", () => {
  it("without versions the last call that changes it wins, and says so", async () => {
    const { leasehold, log } = setUp();
    await leasehold.schedule("daily", daily);
    expect(await leasehold.schedule("daily", { ...daily, cron: "0 10 * * *" })).toMatchObject({
      outcome: "changed",
      schedule: { cron: "0 10 * * *", nextSlotMs: NINE_MS + HOUR_MS },
    });
    expect(log).toEqual([expect.objectContaining({ kind: "schedule_changed", level: "info" })]);
  });

  it("a lower version is not written, is told what there is, and warns: an older release that restarts changes nothing", async () => {
    const { leasehold, log } = setUp();
    await leasehold.schedule("daily", { ...daily, version: 1 });
    await leasehold.schedule("daily", { ...daily, version: 2, cron: "0 10 * * *" });
    for (const version of [1, undefined]) {
      const spec = version === undefined ? daily : { ...daily, version };
      expect(await leasehold.schedule("daily", spec)).toMatchObject({
        outcome: "older",
        schedule: { version: 2, cron: "0 10 * * *" },
      });
    }
    expect(log.filter(({ kind }) => kind === "schedule_older")).not.toEqual([]);
    expect(log.find(({ kind }) => kind === "schedule_older")?.message).toMatch(
      /"daily" stays at version 2; version 1/,
    );
  });

  it("a higher version is noted also when nothing else has changed, and the same one may change", async () => {
    const { leasehold } = setUp();
    await leasehold.schedule("daily", { ...daily, version: 1 });
    expect((await leasehold.schedule("daily", { ...daily, version: 3 })).outcome).toBe("changed");
    expect((await leasehold.schedule("daily", { ...daily, version: 2, catchUp: "skip" })).outcome).toBe(
      "older",
    );
    expect((await leasehold.schedule("daily", { ...daily, version: 2 })).outcome).toBe("unchanged");
    expect((await leasehold.schedule("daily", { ...daily, version: 3, catchUp: "skip" })).outcome).toBe(
      "changed",
    );
    expect((await leasehold.schedules.get("daily"))?.version).toBe(3);
  });

  it("side by side they lose no slot and double none, whichever registers when", async () => {
    const { leasehold, world, jobs } = setUp();
    const other = defineJob({ name: "report", queue: "other", run() {} });
    const releases = [
      { everyMs: 60_000, job: report, input: null },
      { everyMs: 60_000, job: other },
    ] as const;
    const workers = [leasehold.work([report]), leasehold.work([other])];
    for (let n = 0; n < 40; n++) {
      await leasehold.schedule("minute", releases[n % 2] as never);
      await world.advance(37_000);
    }
    const slots = (await jobs()).map(({ jobId }) => jobId).sort();
    const expected = Array.from({ length: Math.floor((40 * 37_000) / 60_000) }, (_, n) =>
      slotJobId("minute", START_MS + (n + 1) * 60_000),
    );
    expect(slots).toEqual(expected.sort());
    for (const worker of workers) await worker.stop();
  });
});

describe("a change", () => {
  it("enqueues by the old definition what was due before it, and by the new one what comes after", async () => {
    const { leasehold, world, jobs } = setUp();
    await leasehold.schedule("daily", daily);
    await world.advance(HOUR_MS / 2 + 10); // nobody works
    await leasehold.schedule("daily", { ...daily, cron: "30 9 * * *", input: { to: "Bob" } });
    expect((await jobs()).map(({ jobId, input }) => [jobId, input])).toEqual([
      [slotJobId("daily", NINE_MS), { to: "Ada" }],
    ]);
    expect(await leasehold.schedules.get("daily")).toMatchObject({
      nextSlotMs: NINE_MS + HOUR_MS / 2,
      lastSlotMs: NINE_MS,
      lastJobId: slotJobId("daily", NINE_MS),
    });
  });

  it("that meets another one is made on top of it", async () => {
    const { leasehold, store } = setUp();
    await leasehold.schedule("daily", daily);
    const again = store.before("schedules.put", async () => {
      again();
      await leasehold.schedule("daily", { ...daily, version: 7 });
    });
    expect(await leasehold.schedule("daily", { ...daily, cron: "5 9 * * *" })).toMatchObject({
      outcome: "older",
      schedule: { version: 7, cron: "0 9 * * *" },
    });
  });
});

describe("pause and resume", () => {
  it("enqueue nothing meanwhile, pass over the slots of the pause, and go on with the first after it", async () => {
    const { leasehold, world, jobs } = setUp();
    await leasehold.schedule("hourly", {
      cron: "0 * * * *",
      job: report,
      input: null,
      catchUp: { atMost: 10 },
    });
    const worker = leasehold.work([report]);
    await world.advance(HOUR_MS);
    expect(await jobs()).toHaveLength(1);
    expect(await leasehold.schedules.pause("hourly")).toEqual({ outcome: "applied" });
    expect(await leasehold.schedules.pause("hourly")).toEqual({ outcome: "already" });
    expect((await leasehold.schedules.get("hourly"))?.nextSlotMs).toBeUndefined();
    await world.advance(3 * HOUR_MS);
    expect(await jobs()).toHaveLength(1);
    expect(await leasehold.schedules.resume("hourly")).toEqual({ outcome: "applied" });
    expect(await leasehold.schedules.resume("hourly")).toEqual({ outcome: "already" });
    await world.advance(HOUR_MS / 4);
    expect(await jobs()).toHaveLength(1);
    await world.advance(HOUR_MS);
    expect((await jobs()).map(({ jobId }) => jobId)).toEqual([
      slotJobId("hourly", NINE_MS + 4 * HOUR_MS),
      slotJobId("hourly", NINE_MS),
    ]);
    await worker.stop();
  });

  it("a slot that came before the pause is enqueued by it, unless it was missed", async () => {
    const { leasehold, world, jobs } = setUp();
    await leasehold.schedule("daily", daily);
    await leasehold.schedule("early", { ...daily, cron: "45 8 * * *" });
    await world.advance(HOUR_MS / 2 + 100);
    await leasehold.schedules.pause("daily");
    await leasehold.schedules.pause("early");
    expect((await jobs()).map(({ jobId }) => jobId)).toEqual([slotJobId("daily", NINE_MS)]);
  });

  it("a definition that is changed while it is paused stays paused", async () => {
    const { leasehold } = setUp();
    await leasehold.schedule("daily", daily);
    await leasehold.schedules.pause("daily");
    expect(await leasehold.schedule("daily", { ...daily, cron: "0 10 * * *" })).toMatchObject({
      outcome: "changed",
      schedule: { paused: true },
    });
  });

  it("and removal of one that is not there say so", async () => {
    const { leasehold } = setUp();
    for (const act of ["pause", "resume", "remove"] as const) {
      expect(await leasehold.schedules[act]("none")).toEqual({ outcome: "gone" });
    }
    await expect(leasehold.schedules.run("none")).rejects.toThrow(GoneError);
    expect(await leasehold.schedules.get("none")).toBeUndefined();
  });
});

describe("run now", () => {
  it("enqueues one more job of the same kind, besides the slots, also while the schedule is paused", async () => {
    const { leasehold, jobs, world } = setUp();
    await leasehold.schedule("daily", { ...daily, priority: 3 });
    await leasehold.schedules.pause("daily");
    const [one, two] = [await leasehold.schedules.run("daily"), await leasehold.schedules.run("daily")];
    expect([one.outcome, two.outcome]).toEqual(["enqueued", "enqueued"]);
    expect(one.jobId).not.toBe(two.jobId);
    expect((await jobs()).map(({ input, priority }) => ({ input, priority }))).toEqual([
      { input: { to: "Ada" }, priority: 3 },
      { input: { to: "Ada" }, priority: 3 },
    ]);
    await leasehold.schedule("slot", { everyMs: HOUR_MS, job: report, slotAs: "at", input: {} } as never);
    const now = await leasehold.schedules.run("slot");
    expect((await leasehold.get(now))?.input).toEqual({ at: world.clock.wallMs() });
    expect((await leasehold.schedules.get("slot"))?.lastSlotMs).toBeUndefined();
  });
});

describe("remove", () => {
  it("and making it anew within one slot does not enqueue that slot twice", async () => {
    const { leasehold, world, jobs } = setUp();
    await leasehold.schedule("hourly", { everyMs: HOUR_MS, job: report, input: null });
    const worker = leasehold.work([report]);
    await world.advance(HOUR_MS / 2 + 100);
    expect(await jobs()).toHaveLength(1);
    expect(await leasehold.schedules.remove("hourly")).toEqual({ outcome: "applied" });
    world.stepWall(-1_000); // to before the slot
    await leasehold.schedule("hourly", { everyMs: HOUR_MS, job: report, input: null });
    await world.advance(10_000);
    expect(await jobs()).toHaveLength(1);
    expect((await leasehold.schedules.get("hourly"))?.lastSlotMs).toBe(NINE_MS);
    await worker.stop();
  });
});

describe("list", () => {
  it("goes page by page in the order of names", async () => {
    const { leasehold } = setUp();
    for (const name of ["c", "a", "b"]) await leasehold.schedule(name, daily);
    const first = await leasehold.schedules.list({ limit: 2 });
    expect(first.map(({ name }) => name)).toEqual(["a", "b"]);
    expect((await leasehold.schedules.list({ after: "b" })).map(({ name }) => name)).toEqual(["c"]);
    await expect(leasehold.schedules.list({ limit: 0 })).rejects.toThrow(InvalidArgumentError);
  });
});
