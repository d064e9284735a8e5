import assert from "node:assert/strict";
import {
  assertAfterNow,
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  enqueuedMany,
  fenceOf,
  gen,
  LEASE_MS,
  leased,
  newId,
  newJob,
  newOwner,
  OPTIONS,
  QUEUE,
  row,
  settled,
  twoHandles,
} from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

export const enqueueChapter: Chapter = {
  name: "enqueue",
  tests: [
    test("C1 stores a job as it was given, ready and without an owner", async (world) => {
      const job = newJob({
        priority: -3,
        maxAttempts: 7,
        maxRunMs: 90_000,
        backoff: { kind: "exponential", baseMs: 100, capMs: 5_000, jitter: "full" },
        resource: "account:42",
        unique: { key: "letter-1", onConflict: "keep" },
      });
      await world.store.enqueue([job], OPTIONS);
      assertHas(await row(world, job.jobId), {
        jobId: job.jobId,
        name: "send-letter",
        queue: QUEUE,
        priority: -3,
        state: "ready",
        runAtMs: null,
        owner: null,
        leaseUntilMs: null,
        leaseMs: LEASE_MS,
        generation: 0,
        raisedBy: null,
        attempt: 0,
        maxAttempts: 7,
        expiredCount: 0,
        run: 1,
        heals: 0,
        cancelRequested: false,
        resource: "account:42",
        resourceGeneration: null,
        uniqueKey: "letter-1",
        maxRunMs: 90_000,
        backoff: { kind: "exponential", baseMs: 100, capMs: 5_000, jitter: "full" },
        input: '{"to":"Ada"}',
        result: null,
        error: null,
        progress: null,
        claimedAtMs: null,
        finishedAtMs: null,
        endReason: null,
        settled: null,
      });
    }),

    test("C1 notes the store's time of arrival", (world) =>
      assertAfterNow(world, 0, async () => (await row(world, await enqueued(world))).createdAtMs)),

    test("C1 answers each member of a batch in its place", async ({ store }) => {
      const [first, known, last] = [newJob(), newJob(), newJob()];
      await store.enqueue([known], OPTIONS);
      const answers = await store.enqueue([first, { ...known, mayRepeat: true }, last], OPTIONS);
      assert.deepEqual(
        answers.map(({ outcome, jobId }) => [outcome, jobId]),
        [
          ["enqueued", first.jobId],
          ["repeated", known.jobId],
          ["enqueued", last.jobId],
        ],
      );
    }),

    test("C1 gives `seq` in the order of a batch and of the calls", async (world) => {
      const ids = [
        ...(await enqueuedMany(
          world,
          Array.from({ length: 20 }, () => ({})),
        )),
        await enqueued(world),
        await enqueued(world),
      ];
      const jobs = await world.store.get(ids, OPTIONS);
      const seqs = jobs.map((job) => job?.seq ?? Number.NaN);
      assert.deepEqual(
        seqs,
        seqs.toSorted((a, b) => a - b),
      );
      assert.equal(new Set(seqs).size, ids.length);
    }),

    test("C1 `seq` never goes back, also not in an emptied table", async (world) => {
      const first = await enqueued(world);
      const { seq } = await row(world, first);
      await world.store.delete([first], OPTIONS);
      assert.ok((await row(world, await enqueued(world))).seq > seq);
    }),

    test("C1 takes thousands in one call", async (world) => {
      const ids = await enqueuedMany(
        world,
        Array.from({ length: 3_000 }, (_, n) => ({ input: String(n) })),
      );
      const jobs = await world.store.get([ids[0], ids[1_500], ids[2_999]] as typeof ids, OPTIONS);
      assert.deepEqual(
        jobs.map((job) => job?.input),
        ["0", "1500", "2999"],
      );
    }),

    test("C1 the same job id again is the same job while it waits", async (world) => {
      const job = newJob({ mayRepeat: true });
      await world.store.enqueue([job], OPTIONS);
      const again = await world.store.enqueue([{ ...job, input: '"other"' }], OPTIONS);
      assert.deepEqual(again, [{ outcome: "repeated", jobId: job.jobId, state: "ready", endReason: null }]);
      assert.equal((await row(world, job.jobId)).input, '{"to":"Ada"}');
      assert.equal((await world.store.list({}, { limit: 10 }, OPTIONS)).jobs.length, 1);
    }),

    test("C1 the same job id again is the same job while it is leased", async (world) => {
      const job = newJob({ mayRepeat: true });
      await world.store.enqueue([job], OPTIONS);
      const fence = fenceOf(await claimOne(world, newOwner()));
      const [again] = await world.store.enqueue([job], OPTIONS);
      assertHas(again, { outcome: "repeated", state: "leased" });
      await settled(world, complete(fence));
    }),

    test("C1 the same job id again is the same job after it has ended, and does not run again", async (world) => {
      const job = newJob({ mayRepeat: true });
      await world.store.enqueue([job], OPTIONS);
      await settled(world, complete(fenceOf(await claimOne(world, newOwner())), '"sent"'));
      const again = await world.store.enqueue([job], OPTIONS);
      assert.deepEqual(again, [
        { outcome: "repeated", jobId: job.jobId, state: "completed", endReason: "completed" },
      ]);
      assert.equal((await row(world, job.jobId)).result, '"sent"');
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("C1 the same job id twice in one batch is one job", async (world) => {
      const job = newJob({ mayRepeat: true });
      const answers = await world.store.enqueue([job, { ...job, input: '"second"' }], OPTIONS);
      assert.deepEqual(
        answers.map(({ outcome }) => outcome),
        ["enqueued", "repeated"],
      );
      assert.equal((await row(world, job.jobId)).input, '{"to":"Ada"}');
    }),

    test("C1 a repeated enqueue that races the job's completion is one job", async (world) => {
      const [here, there] = await twoHandles(world);
      for (const enqueueFirst of [true, false]) {
        const job = newJob({ mayRepeat: true });
        await here.enqueue([job], OPTIONS);
        const end = complete(fenceOf(await claimOne(world, newOwner())));
        const calls = [
          () => there.enqueue([job], OPTIONS).then(([answer]) => answer?.outcome),
          () => here.settle([end], OPTIONS).then(([answer]) => answer?.outcome),
        ];
        const outcomes = await Promise.all((enqueueFirst ? calls : calls.toReversed()).map((call) => call()));
        assert.deepEqual(outcomes.toSorted(), ["applied", "repeated"]);
        assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      }
    }),

    test("C1 many callers that enqueue one job id at once make one job", async (world) => {
      const [here, there] = await twoHandles(world);
      const job = newJob({ mayRepeat: true });
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? here : there).enqueue([job], OPTIONS)),
      );
      const outcomes = answers.flat().map(({ outcome }) => outcome);
      assert.equal(outcomes.filter((outcome) => outcome === "enqueued").length, 1);
      assert.equal(outcomes.filter((outcome) => outcome === "repeated").length, 19);
    }),

    test("C1 a delay is added to the store's time", async (world) => {
      const id = newId();
      await assertAfterNow(world, 60_000, async () => {
        await enqueued(world, { jobId: id, due: { delayMs: 60_000 } });
        return (await row(world, id)).runAtMs;
      });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await world.lapse(id, 61_000);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [id]);
    }),

    test("C1 an absolute `runAtMs` is kept as the caller gave it", async (world) => {
      const runAtMs = (await world.store.nowMs(OPTIONS)) + 86_400_000;
      const id = await enqueued(world, { due: { runAtMs } });
      assert.equal((await row(world, id)).runAtMs, runAtMs);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("C1 a `runAtMs` in the past is due at once", async (world) => {
      const id = await enqueued(world, { due: { runAtMs: 1_000 } });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [id]);
    }),

    test("a job id that was never enqueued is nobody's", async (world) => {
      await leased(world);
      assert.deepEqual(await world.store.get([newId()], OPTIONS), [undefined]);
    }),

    test("a new job's journal begins with its arrival", async (world) => {
      const id = await enqueued(world);
      const entries = await world.store.journal(`job:${id}`, OPTIONS);
      assert.equal(entries.length, 1);
      assertHas(entries[0], { kind: "enqueued", line: `job:${id}`, generation: gen(0) });
    }),

    test("wakes whoever had armed before the job came", async (world) => {
      let tell = (): void => {};
      const woken = new Promise<void>((resolve) => {
        tell = resolve;
      });
      const listener = world.store.listen(() => tell());
      try {
        listener.arm();
        await enqueued(world);
        await woken;
      } finally {
        listener.close();
      }
    }),

    test("wakes a sleeper for a job that came through another handle while it looked", async (world) => {
      const [here, there] = await twoHandles(world);
      let tell = (): void => {};
      const woken = new Promise<void>((resolve) => {
        tell = resolve;
      });
      const listener = here.listen(() => tell());
      try {
        listener.arm();
        const [found] = await Promise.all([claim(world, newOwner()), there.enqueue([newJob()], OPTIONS)]);
        if (found.jobs.length === 0) await woken;
      } finally {
        listener.close();
      }
    }),
  ],
};
