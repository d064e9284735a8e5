/** Empty and large calls, the ends of ranges, pages and counts. */

import assert from "node:assert/strict";
import type { JobId } from "../../protocol/identity.ts";
import { LAST_MOMENT_MS } from "../../protocol/job.ts";
import {
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  enqueuedMany,
  fail,
  fenceOf,
  gen,
  LAPSE_MS,
  leased,
  newOwner,
  nth,
  OPTIONS,
  QUEUE,
  release,
  row,
  settled,
} from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

const YEAR_9999_MS = Date.UTC(9999, 11, 31);

export const limits: Chapter = {
  name: "limits",
  tests: [
    test("an empty batch is answered with nothing", async ({ store }) => {
      const answers = await Promise.all([
        store.enqueue([], OPTIONS),
        store.renew([], OPTIONS),
        store.settle([], OPTIONS),
        store.write([], OPTIONS),
        store.cancel([], OPTIONS),
        store.revoke([], OPTIONS),
        store.retry([], false, OPTIONS),
        store.delete([], OPTIONS),
        store.get([], OPTIONS),
        store.renewLeases([], OPTIONS),
        store.release([], OPTIONS),
      ]);
      assert.ok(answers.every((answer) => answer.length === 0));
    }),

    test("an empty store has no jobs, no counts of jobs and no journal", async (world) => {
      const { store } = world;
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      assert.deepEqual(await store.list({}, { limit: 10 }, OPTIONS), { jobs: [], before: undefined });
      assert.ok(
        (await store.counts(OPTIONS)).every(
          ({ ready, leased: held, completed }) => ready + held + completed === 0,
        ),
      );
      assert.deepEqual(await store.journal("job:unknown", OPTIONS), []);
      assert.equal(await store.prune({ completedMs: 0, failedMs: 0 }, 10, OPTIONS), 0);
    }),

    test("one call cancels, revokes, retries and deletes hundreds, each answered in its place", async (world) => {
      const ids = await enqueuedMany(
        world,
        Array.from({ length: 300 }, () => ({})),
      );
      const held = claimedIds(await claim(world, newOwner(), { limit: 150 }));
      const revoked = await world.store.revoke(ids, OPTIONS);
      const outcomes = ids.map((id) => (held.includes(id) ? "applied" : "conflict"));
      assert.deepEqual(
        revoked.map(({ outcome }) => outcome),
        outcomes,
      );
      const { store } = world;
      for (const act of [
        () => store.cancel(ids, OPTIONS),
        () => store.retry(ids, false, OPTIONS),
        () => store.delete(ids, OPTIONS),
      ]) {
        assert.ok((await act()).every(({ outcome }) => outcome === "applied"));
      }
      assert.deepEqual((await store.list({}, { limit: 1 }, OPTIONS)).jobs, []);
    }),

    test("the same id twice in one call is judged twice", async (world) => {
      const id = await enqueued(world);
      const cancelled = await world.store.cancel([id, id], OPTIONS);
      assert.deepEqual(
        cancelled.map(({ outcome }) => outcome),
        ["applied", "already"],
      );
      const jobs = await world.store.get([id, id], OPTIONS);
      assert.deepEqual(
        jobs.map((job) => job?.jobId),
        [id, id],
      );
    }),

    test("priorities reach from the lowest to the highest 32-bit integer, in order", async (world) => {
      const ids = await enqueuedMany(world, [
        { priority: 2 ** 31 - 1 },
        { priority: 0 },
        { priority: -(2 ** 31) },
      ]);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), ids.toReversed());
    }),

    test("a job may be due in the year 9999, and be delayed by a hundred years", async (world) => {
      const far = await enqueued(world, { due: { runAtMs: YEAR_9999_MS } });
      const century = await enqueued(world, { due: { delayMs: 100 * 365 * 86_400_000 } });
      assert.equal((await row(world, far)).runAtMs, YEAR_9999_MS);
      assert.ok(((await row(world, century)).runAtMs ?? 0) > Date.UTC(2100, 0, 1));
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("a retry may be delayed until the year 9999", async (world) => {
      const fence = await leased(world);
      const nowMs = await world.store.nowMs(OPTIONS);
      await settled(world, fail(fence, YEAR_9999_MS - nowMs));
      assert.ok(((await row(world, fence.jobId)).runAtMs ?? 0) >= YEAR_9999_MS - 1_000);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("a retry or release that is delayed by more than time has is due at the end of the year 9999", async (world) => {
      const fences = [await leased(world), await leased(world)] as const;
      await settled(world, fail(fences[0], Number.MAX_SAFE_INTEGER));
      await settled(world, release(fences[1], Number.MAX_SAFE_INTEGER));
      for (const { jobId } of fences) assert.equal((await row(world, jobId)).runAtMs, LAST_MOMENT_MS);
      const ready = await enqueued(world);
      const claimed = await claim(world, newOwner());
      assert.deepEqual(claimedIds(claimed), [ready]);
      assert.ok(Number.isSafeInteger(claimed.nextDueInMs), `in ${claimed.nextDueInMs} ms`);
    }),

    test("a job may have a billion attempts", async (world) => {
      const fence = await leased(world, { maxAttempts: 1_000_000_000 });
      await settled(world, fail(fence));
      assertHas((await claimOne(world, newOwner())).job, { attempt: 2, maxAttempts: 1_000_000_000 });
    }),

    test("generations beyond 32 bits are compared and raised exactly", async (world) => {
      const { epoch } = await world.store.raiseFloor(OPTIONS);
      const fence = await leased(world);
      const last = (epoch + 1) * 2 ** 32 - 1;
      await world.store.heal(fence, gen(last - 1), OPTIONS);
      const next = fenceOf(await claimOne(world, newOwner()));
      assert.equal(next.generation, last);
      for (const generation of [next.generation - 1, next.generation + 1, next.generation - 2 ** 32]) {
        const [answer] = await world.store.renew([{ ...next, generation: gen(generation) }], OPTIONS);
        assertHas(answer, { outcome: "stale", generation: next.generation });
      }
      await settled(world, complete(next));
    }),

    test("a job survives hundreds of runs, and its journal stays bounded", async (world) => {
      const jobId = await enqueued(world);
      for (let n = 0; n < 320; n += 1)
        await settled(world, release(fenceOf(await claimOne(world, newOwner()))));
      assertHas(await row(world, jobId), { generation: 320, attempt: 0 });
      const entries = await world.store.journal(`job:${jobId}`, OPTIONS);
      assert.ok(entries.length >= 200 && entries.length < 600, `${entries.length} entries`);
      assertHas(entries.at(-1), { kind: "released", generation: 320 });
    }),

    test("pages go from the newest to the oldest, each job once, also while new ones come", async (world) => {
      const ids = await enqueuedMany(
        world,
        Array.from({ length: 25 }, () => ({})),
      );
      const seen: JobId[] = [];
      let before: number | undefined;
      do {
        const page = await world.store.list(
          {},
          { limit: 10, ...(before === undefined ? {} : { before }) },
          OPTIONS,
        );
        assert.ok(page.jobs.length <= 10);
        seen.push(...page.jobs.map(({ jobId }) => jobId));
        before = page.before;
        await enqueued(world);
      } while (before !== undefined);
      assert.deepEqual(seen, ids.toReversed());
    }),

    test("a page that takes all there is has no next one", async (world) => {
      await enqueuedMany(world, [{}, {}, {}]);
      const page = await world.store.list({}, { limit: 3 }, OPTIONS);
      assert.deepEqual([page.jobs.length, page.before], [3, undefined]);
    }),

    test("pages filter by queue, name, state, unique key and resource, alone and together", async (world) => {
      const unique = { key: "letter-1", onConflict: "keep" } as const;
      const plain = await enqueued(world);
      const parcel = await enqueued(world, { queue: "parcels", name: "send-parcel", resource: "desk" });
      const keyed = await enqueued(world, { unique });
      const done = await leased(world, { queue: "done" });
      await settled(world, complete(done));
      const held = await leased(world, { queue: "held" });
      await world.lapse(held.jobId, LAPSE_MS);
      const find = async (filter: Parameters<typeof world.store.list>[0]): Promise<JobId[]> =>
        (await world.store.list(filter, { limit: 10 }, OPTIONS)).jobs.map(({ jobId }) => jobId);
      assert.deepEqual(await find({ queue: "parcels" }), [parcel]);
      assert.deepEqual(await find({ name: "send-parcel" }), [parcel]);
      assert.deepEqual(await find({ resource: "desk" }), [parcel]);
      assert.deepEqual(await find({ uniqueKey: "letter-1" }), [keyed]);
      assert.deepEqual(await find({ states: ["completed"] }), [done.jobId]);
      assert.deepEqual(await find({ states: ["leased", "completed"] }), [held.jobId, done.jobId]);
      assert.deepEqual(await find({ queue: QUEUE, states: ["ready"] }), [keyed, plain]);
      assert.deepEqual(await find({ queue: QUEUE, resource: "desk" }), []);
      assert.deepEqual(await find({ states: [] }), []);
    }),

    test("counts tell ready, delayed, leased, expired and ended jobs by queue", async (world) => {
      await enqueuedMany(world, [{}, {}, {}, {}, {}, {}, { due: { delayMs: 3_600_000 } }]);
      const { jobs } = await claim(world, newOwner(), { limit: 5 });
      await settled(world, complete(fenceOf(nth(jobs, 0))));
      await settled(world, fail(fenceOf(nth(jobs, 1)), "final"));
      await world.store.cancel([nth(jobs, 2).job.jobId], OPTIONS);
      await world.store.revoke([nth(jobs, 2).job.jobId], OPTIONS);
      await world.lapse(nth(jobs, 3).job.jobId, LAPSE_MS);
      await enqueued(world, { queue: "parcels" });
      await world.store.pause("parcels", true, OPTIONS);
      const counts = await world.store.counts(OPTIONS);
      const nothing = {
        delayed: 0,
        blocked: 0,
        leased: 0,
        expired: 0,
        completed: 0,
        failed: 0,
        cancelled: 0,
      };
      assert.deepEqual(
        [counts.find(({ queue }) => queue === QUEUE), counts.find(({ queue }) => queue === "parcels")],
        [
          {
            queue: QUEUE,
            paused: false,
            limit: null,
            ready: 2,
            delayed: 1,
            blocked: 0,
            leased: 2,
            expired: 1,
            completed: 1,
            failed: 1,
            cancelled: 1,
          },
          { queue: "parcels", paused: true, limit: null, ready: 1, ...nothing },
        ],
      );
    }),

    test("counts follow a retry, a deletion and a pruning", async (world) => {
      const [a, b, c] = [await leased(world), await leased(world), await leased(world)];
      for (const fence of [a, b, c]) await settled(world, complete(fence));
      await world.store.retry([a.jobId], false, OPTIONS);
      await world.store.delete([b.jobId], OPTIONS);
      const count = async (): Promise<unknown> => {
        const found = (await world.store.counts(OPTIONS)).find(({ queue }) => queue === QUEUE);
        return [found?.ready, found?.completed];
      };
      assert.deepEqual(await count(), [1, 1]);
      await world.store.prune({ completedMs: 0, failedMs: 0 }, 10, OPTIONS);
      assert.deepEqual(await count(), [1, 0]);
    }),
  ],
};
