import assert from "node:assert/strict";
import { type Firing, slotJobId } from "../../protocol/schedule.ts";
import type { FiringAnswer } from "../../stores/schedules.ts";
import {
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  fail,
  fenceOf,
  newId,
  newOwner,
  nth,
  OPTIONS,
  row,
  settled,
  twoHandles,
} from "./fixtures.ts";
import { type ConformanceTest, type TestWorld, test } from "./harness.ts";
import { firingOf, found, HOUR_MS, jobCount, MINUTE_MS, scheduled, template } from "./schedule-fixtures.ts";

async function fire(
  { store }: Pick<TestWorld, "store">,
  ...firings: Firing[]
): Promise<readonly FiringAnswer[]> {
  return store.schedules.fire(firings, OPTIONS);
}

const STALE: FiringAnswer = { outcome: "stale" };

export const scheduleFiring: readonly ConformanceTest[] = [
  test("a firing enqueues the slot's job, whole and under the id of schedule and slot, and notes the next slot", async (world) => {
    const whole = template({
      name: "digest-job",
      priority: -3,
      leaseMs: 61_000,
      maxAttempts: 2,
      maxRunMs: 5_000,
      backoff: { kind: "fixed", baseMs: 20, capMs: 30, jitter: "none" },
      resource: "printer",
      input: '{"to":"Ada","né":"\\"x\\" 😀"}',
    });
    const schedule = await scheduled(world, -1_000, { template: whole });
    const jobId = slotJobId("digest", schedule.nextSlotMs);
    assert.deepEqual(await fire(world, firingOf(schedule)), [
      { outcome: "applied", jobs: [{ outcome: "enqueued", jobId }] },
    ]);
    const { slotAs: _, unique: __, input, ...members } = whole;
    const job = await row(world, jobId);
    assertHas(job, { ...members, uniqueKey: null, state: "ready", attempt: 0 });
    assert.deepEqual(JSON.parse(job.input), JSON.parse(input));
    assertHas(await found(world), {
      nextSlotMs: schedule.nextSlotMs + HOUR_MS,
      lastSlotMs: schedule.nextSlotMs,
      covered: [[schedule.nextSlotMs, schedule.nextSlotMs]],
      revision: schedule.revision,
      template: whole,
    });
  }),

  test("with slotAs the job's input has the slot", async (world) => {
    const schedule = await scheduled(world, -1_000, { template: template({ slotAs: "at" }) });
    await fire(world, firingOf(schedule));
    const job = await row(world, slotJobId("digest", schedule.nextSlotMs));
    assert.deepEqual(JSON.parse(job.input), { to: "Ada", at: schedule.nextSlotMs });
  }),

  test("a firing of many slots enqueues each of them, in their order", async (world) => {
    const schedule = await scheduled(world, -5 * MINUTE_MS);
    const slots = [0, 1, 2].map((n) => schedule.nextSlotMs + n * MINUTE_MS);
    const [answer] = await fire(world, { ...firingOf(schedule), slots });
    assert.ok(answer?.outcome === "applied");
    const ids = slots.map((slot) => slotJobId("digest", slot));
    assert.deepEqual(
      answer.jobs,
      ids.map((jobId) => ({ outcome: "enqueued", jobId })),
    );
    assert.deepEqual(claimedIds(await claim(world, newOwner())), ids);
  }),

  test("a firing without slots notes the next one and enqueues nothing", async (world) => {
    const schedule = await scheduled(world, -5 * MINUTE_MS);
    assert.deepEqual(await fire(world, { ...firingOf(schedule), slots: [] }), [
      { outcome: "applied", jobs: [] },
    ]);
    assert.equal(await jobCount(world), 0);
    assert.deepEqual((await world.store.schedules.due(10, OPTIONS)).due, []);
  }),

  test("the same firing again is stale, and so is any other of that slot: nothing is written", async (world) => {
    const schedule = await scheduled(world, -1_000);
    await fire(world, firingOf(schedule));
    const after = await found(world);
    assert.deepEqual(await fire(world, firingOf(schedule), firingOf(schedule, 2 * HOUR_MS)), [STALE, STALE]);
    assert.deepEqual(await found(world), after);
    assert.equal(await jobCount(world), 1);
  }),

  test("the same firing twice in one call is applied once", async (world) => {
    const schedule = await scheduled(world, -1_000);
    const stale = { ...firingOf(schedule), revision: newId() };
    const answers = await fire(world, stale, firingOf(schedule), { ...firingOf(schedule) });
    assert.deepEqual(
      answers.map(({ outcome }) => outcome),
      ["stale", "applied", "stale"],
    );
    assert.equal(await jobCount(world), 1);
  }),

  test("T1 a slot that lies ahead by the store's clock is not fired, whoever says that it is due", async (world) => {
    const schedule = await scheduled(world, HOUR_MS);
    assert.deepEqual(await fire(world, firingOf(schedule)), [STALE]);
    assertHas(await found(world), { nextSlotMs: schedule.nextSlotMs, lastSlotMs: null });
    assert.equal(await jobCount(world), 0);
  }),

  test("what was looked at before a pause, a change, a removal or a schedule made anew is stale", async (world) => {
    const { schedules } = world.store;
    const changes: Record<string, (looked: Parameters<typeof firingOf>[0]) => Promise<unknown>> = {
      paused: (looked) => schedules.put({ ...looked, paused: true, revision: newId() }, looked, OPTIONS),
      changed: (looked) => schedules.put({ ...looked, revision: newId() }, looked, OPTIONS),
      removed: ({ name }) => schedules.remove(name, OPTIONS),
      "made anew": async (looked) => {
        await schedules.remove(looked.name, OPTIONS);
        await schedules.put({ ...looked, revision: newId() }, undefined, OPTIONS);
      },
    };
    for (const [name, change] of Object.entries(changes)) {
      const looked = await scheduled(world, -1_000, { name });
      await change(looked);
      assert.deepEqual(await fire(world, firingOf(looked)), [STALE], name);
    }
    assert.equal(await jobCount(world), 0);
  }),

  test("each firing of a call stands by itself, with its own schedule's jobs", async (world) => {
    const [a, b, c] = [
      await scheduled(world, -3_000, { name: "a", template: template({ name: "job-a" }) }),
      await scheduled(world, HOUR_MS, { name: "b" }),
      await scheduled(world, -1_000, { name: "c", template: template({ name: "job-c" }) }),
    ];
    const answers = await fire(world, firingOf(c), firingOf(b), firingOf(a));
    assert.deepEqual(
      answers.map((answer) =>
        answer.outcome === "applied" ? answer.jobs.map(({ jobId }) => jobId) : "stale",
      ),
      [[slotJobId("c", c.nextSlotMs)], "stale", [slotJobId("a", a.nextSlotMs)]],
    );
    assertHas(await row(world, slotJobId("a", a.nextSlotMs)), { name: "job-a" });
    assertHas(await row(world, slotJobId("c", c.nextSlotMs)), { name: "job-c" });
  }),

  test("of many that fire one slot at once one is applied", async (world) => {
    const handles = [...(await twoHandles(world)), await world.another(), await world.another()];
    const schedule = await scheduled(world, -1_000);
    const all = await Promise.all(handles.map((store) => fire({ store }, firingOf(schedule))));
    assert.equal(all.flat().filter(({ outcome }) => outcome === "applied").length, 1);
    assert.equal(await jobCount(world), 1);
  }),

  test("many that fire overlapping batches in different orders do not block each other", async (world) => {
    const names = Array.from({ length: 12 }, (_, n) => `schedule ${n}`);
    const all: Firing[] = [];
    for (const name of names) all.push(firingOf(await scheduled(world, -1_000, { name })));
    const [one, other] = await twoHandles(world);
    await Promise.all([
      fire({ store: one }, ...all),
      fire({ store: other }, ...all.toReversed()),
      fire({ store: one }, ...all.slice(6)),
    ]);
    await fire(world, ...all);
    assert.equal(await jobCount(world), names.length);
  }),

  test("C1 a slot whose job is there already, running or ended, is that job: a schedule made anew repeats none", async (world) => {
    const schedule = await scheduled(world, -1_000);
    await fire(world, firingOf(schedule));
    const claimed = await claimOne(world, newOwner());
    await world.store.schedules.remove("digest", OPTIONS);
    await world.store.schedules.put({ ...schedule, revision: newId() }, undefined, OPTIONS);
    const again = { ...firingOf(schedule), revision: (await found(world)).revision };
    const [answer] = await fire(world, again);
    assert.ok(answer?.outcome === "applied");
    assertHas(answer.jobs[0], { outcome: "repeated", jobId: claimed.job.jobId, state: "leased" });

    await settled(world, complete(fenceOf(claimed)));
    await world.store.schedules.remove("digest", OPTIONS);
    await world.store.schedules.put({ ...schedule, revision: newId() }, undefined, OPTIONS);
    const third = await fire(world, { ...firingOf(schedule), revision: (await found(world)).revision });
    assert.ok(third[0]?.outcome === "applied");
    assertHas(third[0].jobs[0], { outcome: "repeated", state: "completed" });
    assert.equal(await jobCount(world), 1);
  }),

  test("C17 a slot whose unique key is taken is answered as an enqueue would be, and the next one is noted", async (world) => {
    for (const [onConflict, outcome] of [
      ["keep", "kept"],
      ["throw", "conflict"],
      ["replace", "replaced"],
    ] as const) {
      const key = `key ${onConflict}`;
      const holder = await enqueued(world, { unique: { key, onConflict: "keep" } });
      const schedule = await scheduled(world, -1_000, {
        name: onConflict,
        template: template({ unique: { key, onConflict } }),
      });
      const [answer] = await fire(world, firingOf(schedule));
      assert.ok(answer?.outcome === "applied");
      assertHas(nth(answer.jobs, 0), { outcome, jobId: holder });
      assertHas(await found(world, onConflict), { nextSlotMs: schedule.nextSlotMs + HOUR_MS });
    }
  }),

  test("a job that fails changes nothing in its schedule", async (world) => {
    const schedule = await scheduled(world, -1_000);
    await fire(world, firingOf(schedule));
    const before = await found(world);
    await settled(world, fail(fenceOf(await claimOne(world, newOwner())), "final"));
    assert.deepEqual(await found(world), before);
  }),

  test("a firing wakes whoever sleeps", async (world) => {
    const schedule = await scheduled(world, -1_000);
    const { store } = world;
    await new Promise<void>((resolve, reject) => {
      const listener = store.listen(() => {
        listener.close();
        resolve();
      });
      listener.arm();
      fire(world, firingOf(schedule)).catch(reject);
    });
  }),

  test("a long input goes with the job as it is", async (world) => {
    const input = JSON.stringify({ text: "é".repeat(200_000) });
    const schedule = await scheduled(world, -1_000, { template: template({ input }) });
    await fire(world, firingOf(schedule));
    assert.equal((await row(world, slotJobId("digest", schedule.nextSlotMs))).input, input);
  }),

  test("no firings are nothing to do", async (world) => {
    assert.deepEqual(await fire(world), []);
  }),
];
