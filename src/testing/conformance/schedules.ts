import assert from "node:assert/strict";
import { newId, nth, OPTIONS, twoHandles } from "./fixtures.ts";
import { type Chapter, type ConformanceTest, type TestWorld, test } from "./harness.ts";
import { scheduleFiring } from "./schedule-firing.ts";
import {
  firingOf,
  found,
  HOUR_MS,
  jobCount,
  MINUTE_MS,
  scheduled,
  template,
  write,
} from "./schedule-fixtures.ts";

async function dueNames({ store }: Pick<TestWorld, "store">, limit = 10): Promise<string[]> {
  return (await store.schedules.due(limit, OPTIONS)).due.map(({ name }) => name);
}

const keeping: readonly ConformanceTest[] = [
  test("a schedule comes back as it was put, with the store's times", async (world) => {
    const before = await world.store.nowMs(OPTIONS);
    const schedule = write({
      name: "nightly ☾",
      version: 2 ** 40,
      timing: { everyMs: 86_400_000 },
      atMost: 7,
      template: template({ resource: "a", unique: { key: "k", onConflict: "throw" }, slotAs: "at" }),
      paused: true,
      nextSlotMs: before + HOUR_MS,
      covered: [
        [0, before - HOUR_MS],
        [before, before],
      ],
      lastSlotMs: before - HOUR_MS,
    });
    assert.equal(await world.store.schedules.put(schedule, undefined, OPTIONS), true);
    const { nowMs, schedule: kept } = await world.store.schedules.get(schedule.name, OPTIONS);
    assert.ok(kept);
    const { createdAtMs, changedAtMs, ...others } = kept;
    assert.deepEqual(others, schedule);
    assert.equal(createdAtMs, changedAtMs);
    assert.ok(createdAtMs >= before - world.timePrecisionMs && createdAtMs <= nowMs + world.timePrecisionMs);
    assert.deepEqual((await world.store.schedules.get("none", OPTIONS)).schedule, undefined);
  }),

  test("a put is refused unless the schedule is as it was found, and then nothing is written", async (world) => {
    const { schedules } = world.store;
    const first = await scheduled(world, HOUR_MS);
    const before = await found(world);
    const other = write({ template: template({ input: '"other"' }) });
    assert.equal(await schedules.put(other, undefined, OPTIONS), false);
    assert.equal(await schedules.put(other, { ...first, revision: newId() }, OPTIONS), false);
    assert.equal(await schedules.put(other, { ...first, nextSlotMs: null }, OPTIONS), false);
    assert.equal(await schedules.put({ ...other, name: "none" }, first, OPTIONS), false);
    assert.deepEqual(await found(world), before);
    assert.equal(await schedules.put(other, first, OPTIONS), true);
    assert.equal((await found(world)).template.input, '"other"');
    assert.equal((await found(world)).createdAtMs, before.createdAtMs);
  }),

  test("of many that make one schedule at once one does, and of many that change it one does", async (world) => {
    const [one, other] = await twoHandles(world);
    const puts = [one, other, one, other].map((store) => store.schedules.put(write(), undefined, OPTIONS));
    assert.equal((await Promise.all(puts)).filter(Boolean).length, 1);
    const kept = await found(world);
    const changes = [one, other, one].map((store) => store.schedules.put(write(), kept, OPTIONS));
    assert.equal((await Promise.all(changes)).filter(Boolean).length, 1);
  }),

  test("a removed schedule is gone, and what it has enqueued stays", async (world) => {
    const schedule = await scheduled(world, -1_000);
    await world.store.schedules.fire([firingOf(schedule)], OPTIONS);
    assert.equal(await world.store.schedules.remove("digest", OPTIONS), true);
    assert.equal(await world.store.schedules.remove("digest", OPTIONS), false);
    assert.deepEqual((await world.store.schedules.get("digest", OPTIONS)).schedule, undefined);
    assert.equal(await jobCount(world), 1);
  }),

  test("lists go by names, compared byte by byte, page after page", async (world) => {
    const names = ["Zulu", "alpha", "alpha2", "é", "😀", "日"];
    for (const name of names) await world.store.schedules.put(write({ name }), undefined, OPTIONS);
    const sorted = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const first = await world.store.schedules.list({ limit: 4 }, OPTIONS);
    const after = nth(first, 3).name;
    const second = await world.store.schedules.list({ limit: 4, after }, OPTIONS);
    assert.deepEqual(
      [...first, ...second].map(({ name }) => name),
      sorted,
    );
  }),
];

const looking: readonly ConformanceTest[] = [
  test("due are those whose slot has come, the earliest first, so many as asked for", async (world) => {
    await scheduled(world, -1_000, { name: "late" });
    await scheduled(world, -HOUR_MS, { name: "latest" });
    await scheduled(world, -MINUTE_MS, { name: "later" });
    await scheduled(world, HOUR_MS, { name: "ahead" });
    await scheduled(world, -MINUTE_MS, { name: "paused", paused: true });
    await world.store.schedules.put(write({ name: "over" }), undefined, OPTIONS);
    assert.deepEqual(await dueNames(world), ["latest", "later", "late"]);
    assert.deepEqual(await dueNames(world, 2), ["latest", "later"]);
  }),

  test("what is due comes with all that it takes to fire it, and the store's time", async (world) => {
    const beforeMs = await world.store.nowMs(OPTIONS);
    const schedule = await scheduled(world, -1_000, { covered: [[5, 7]], lastSlotMs: 7 });
    const { nowMs, due } = await world.store.schedules.due(10, OPTIONS);
    assert.ok(nowMs >= beforeMs - world.timePrecisionMs);
    const { name, revision, timing, atMost, covered, nextSlotMs, lastSlotMs } = nth(due, 0);
    assert.deepEqual(
      { name, revision, timing, atMost, covered, nextSlotMs, lastSlotMs },
      {
        name: "digest",
        revision: schedule.revision,
        timing: schedule.timing,
        atMost: 1,
        covered: [[5, 7]],
        nextSlotMs: schedule.nextSlotMs,
        lastSlotMs: 7,
      },
    );
  }),

  test("a look tells when the next of those comes that are not due; paused ones do not count", async (world) => {
    assert.equal((await world.store.schedules.due(10, OPTIONS)).nextDueInMs, undefined);
    await scheduled(world, -1_000, { name: "due" });
    await scheduled(world, MINUTE_MS, { name: "paused", paused: true });
    assert.equal((await world.store.schedules.due(10, OPTIONS)).nextDueInMs, undefined);
    await scheduled(world, 2 * HOUR_MS, { name: "later" });
    const { nextSlotMs } = await scheduled(world, HOUR_MS, { name: "soon" });
    const { nowMs, nextDueInMs } = await world.store.schedules.due(10, OPTIONS);
    assert.equal(nextDueInMs, nextSlotMs - nowMs);
  }),

  test("T5 those that were written by a clock which has been set back since are to be looked at, however far their slots are", async (world) => {
    await scheduled(world, HOUR_MS, { name: "ahead" });
    await scheduled(world, HOUR_MS, { name: "paused", paused: true });
    const schedule = await scheduled(world, HOUR_MS);
    await world.setBack("digest", 365 * 24 * HOUR_MS);
    await world.setBack("paused", 365 * 24 * HOUR_MS);
    const { due } = await world.store.schedules.due(10, OPTIONS);
    assert.deepEqual(
      due.map(({ name }) => name),
      ["digest"],
    );
    const foundSlotMs = nth(due, 0).nextSlotMs;
    const firing = { ...firingOf(schedule), foundSlotMs, slots: [], lastSlotMs: null };
    const [answer] = await world.store.schedules.fire([firing], OPTIONS);
    assert.equal(answer?.outcome, "applied");
    assert.deepEqual(await dueNames(world), []);
  }),

  test("T5 a clock that is set back by a few seconds changes nothing", async (world) => {
    await scheduled(world, HOUR_MS);
    await world.setBack("digest", 5_000);
    assert.deepEqual(await dueNames(world), []);
  }),

  test("T1 no time of a worker goes into a schedule", async (world) => {
    const offsetMs = 90 * MINUTE_MS;
    const wrongMs = (await world.store.nowMs(OPTIONS)) + offsetMs;
    const parameters = await world.withWorkerClock(offsetMs, async () => {
      const schedule = await scheduled(world, -1_000);
      await world.store.schedules.due(10, OPTIONS);
      const { schedule: kept } = await world.store.schedules.get("digest", OPTIONS);
      assert.ok(Math.abs((kept?.createdAtMs ?? 0) - wrongMs) > HOUR_MS);
      const [answer] = await world.store.schedules.fire([firingOf(schedule, 3 * HOUR_MS)], OPTIONS);
      assert.equal(answer?.outcome, "applied");
    });
    const suspicious = JSON.stringify(parameters)
      .match(/\d{13}/g)
      ?.filter((digits) => Math.abs(Number(digits) - wrongMs) < 10 * MINUTE_MS);
    assert.deepEqual(suspicious ?? [], []);
  }),
];

export const schedules: Chapter = { name: "schedules", tests: [...keeping, ...looking, ...scheduleFiring] };
