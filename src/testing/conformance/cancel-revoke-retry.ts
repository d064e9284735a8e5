/** What an operator may do to a job (C13, C14, C18), and C19. */

import assert from "node:assert/strict";
import type { JobId } from "../../protocol/identity.ts";
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
  journalOf,
  LAPSE_MS,
  leased,
  newId,
  newOwner,
  OPTIONS,
  reclaimed,
  release,
  row,
  settled,
} from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

const EPOCH_SIZE = 2 ** 32;
const HOUR_MS = 3_600_000;

export const cancelRevokeRetry: Chapter = {
  name: "cancel, revoke, retry",
  tests: [
    test("C13 a ready job is cancelled at once", async (world) => {
      const id = await enqueued(world);
      assertHas((await world.store.cancel([id], OPTIONS))[0], { outcome: "applied", state: "cancelled", pending: false });
      assertHas(await row(world, id), { state: "cancelled", endReason: "cancelled" });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      assert.equal((await journalOf(world, id)).at(-1)?.kind, "cancelled");
    }),

    test("C13 a delayed job is cancelled at once", async (world) => {
      const id = await enqueued(world, { due: { delayMs: HOUR_MS } });
      assertHas((await world.store.cancel([id], OPTIONS))[0], { outcome: "applied", state: "cancelled" });
      await world.lapse(id, 2 * HOUR_MS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("C13 a leased job is asked to stop, and stays its owner's", async (world) => {
      const fence = await leased(world);
      const [answer] = await world.store.cancel([fence.jobId], OPTIONS);
      assert.deepEqual(answer, { outcome: "applied", state: "leased", generation: gen(1), pending: true });
      assertHas(await row(world, fence.jobId), { state: "leased", owner: fence.owner, cancelRequested: true });
      assert.equal((await journalOf(world, fence.jobId)).some(({ kind }) => kind === "cancel_requested"), true);
    }),

    test("C13 under a pending cancel a completion and a final failure end the job as themselves", async (world) => {
      for (const [end, state] of [
        [complete, "completed"],
        [(fence: Parameters<typeof fail>[0]) => fail(fence, "final"), "failed"],
      ] as const) {
        const fence = await leased(world);
        await world.store.cancel([fence.jobId], OPTIONS);
        await settled(world, end(fence));
        assertHas(await row(world, fence.jobId), { state, cancelRequested: false });
      }
    }),

    test("C13 under a pending cancel a retry, a release, a lapse and a revoke end the job as cancelled", async (world) => {
      const ends: ((fence: Awaited<ReturnType<typeof leased>>) => Promise<unknown>)[] = [
        (fence) => settled(world, fail(fence, 1_000)),
        (fence) => settled(world, release(fence)),
        async (fence) => {
          await world.lapse(fence.jobId, LAPSE_MS);
          assert.equal((await claim(world, newOwner())).ended.length, 1);
        },
        (fence) => world.store.revoke([fence.jobId], OPTIONS),
      ];
      for (const end of ends) {
        const fence = await leased(world);
        await world.store.cancel([fence.jobId], OPTIONS);
        await end(fence);
        assertHas(await row(world, fence.jobId), {
          state: "cancelled",
          endReason: "cancelled",
          cancelRequested: false,
          owner: null,
          runAtMs: null,
        });
        assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      }
    }),

    test("C13 what has ended otherwise cannot be cancelled, and what was cancelled is `already`", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      const waiting = await enqueued(world);
      await world.store.cancel([waiting], OPTIONS);
      const [ended, twice, unknown] = await world.store.cancel([fence.jobId, waiting, newId()], OPTIONS);
      assertHas(ended, { outcome: "conflict", state: "completed" });
      assert.deepEqual(twice, { outcome: "already", state: "cancelled" });
      assert.deepEqual(unknown, { outcome: "gone" });
    }),

    test("C13 a revoke takes the job from its owner and makes it ready", async (world) => {
      const fence = await leased(world);
      const [answer] = await world.store.revoke([fence.jobId], OPTIONS);
      assertHas(answer, { outcome: "applied", state: "ready", generation: 2 });
      assertHas(await row(world, fence.jobId), { state: "ready", owner: null, generation: 2, attempt: 1 });
      assertHas((await claimOne(world, newOwner())).job, { generation: 3, attempt: 2 });
      assert.equal((await journalOf(world, fence.jobId)).some(({ kind }) => kind === "revoked"), true);
    }),

    test("C13 a revoke's token lies above the old owner's and below the next one's", async (world) => {
      const fence = await leased(world);
      const [answer] = await world.store.revoke([fence.jobId], OPTIONS);
      assertHas(answer?.token, { line: `job:${fence.jobId}`, generation: 2 });
      assert.notEqual(answer?.token?.owner, fence.owner);
      assert.equal((await claimOne(world, newOwner())).token.generation, 3);
    }),

    test("C13 a revoke of an expired lease raises the generation too", async (world) => {
      const fence = await leased(world);
      await world.lapse(fence.jobId, LAPSE_MS);
      await claim(world, newOwner(), { takeover: false });
      assertHas((await world.store.revoke([fence.jobId], OPTIONS))[0], { outcome: "applied", generation: 2 });
      assertHas((await world.store.renew([fence], OPTIONS))[0], { outcome: "stale", reason: "revoked" });
    }),

    test("C13 what nobody holds cannot be revoked", async (world) => {
      const ready = await enqueued(world);
      const [answer, unknown] = await world.store.revoke([ready, newId()], OPTIONS);
      assertHas(answer, { outcome: "conflict", state: "ready" });
      assert.deepEqual(unknown, { outcome: "gone" });
      assert.equal((await row(world, ready)).generation, 0);
    }),

    test("C18 an ended job goes back to ready with its attempts anew", async (world) => {
      for (const state of ["completed", "failed", "cancelled"] as const) {
        const { b } = await reclaimed(world);
        if (state === "cancelled") await world.store.cancel([b.jobId], OPTIONS);
        await settled(world, state === "completed" ? complete(b, "1") : fail(b, state === "failed" ? "final" : 0));
        assert.equal((await row(world, b.jobId)).state, state);
        assertHas((await world.store.retry([b.jobId], false, OPTIONS))[0], { outcome: "applied", state: "ready", generation: 3 });
        assertHas(await row(world, b.jobId), {
          state: "ready",
          generation: 3,
          attempt: 0,
          expiredCount: 0,
          run: 1,
          cancelRequested: false,
          endReason: null,
          finishedAtMs: null,
          result: null,
          error: null,
        });
        const next = await claimOne(world, newOwner());
        assertHas(next.job, { jobId: b.jobId, generation: 4, attempt: 1 });
        await settled(world, complete(fenceOf(next)));
      }
    }),

    test("C18 `again` begins a new run number", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      await world.store.retry([fence.jobId], true, OPTIONS);
      assert.equal((await row(world, fence.jobId)).run, 2);
    }),

    test("C18 what has not ended cannot be retried", async (world) => {
      const fence = await leased(world, { queue: "parcels" });
      const ready = await enqueued(world);
      const answers = await world.store.retry([fence.jobId, ready, newId()], false, OPTIONS);
      assert.deepEqual(
        answers.map(({ outcome }) => outcome),
        ["conflict", "conflict", "gone"],
      );
      await settled(world, complete(fence));
    }),

    test("C18 a retried job keeps its place by `seq`", async (world) => {
      const fence = await leased(world);
      await settled(world, fail(fence, "final"));
      const later = await enqueued(world);
      await world.store.retry([fence.jobId], false, OPTIONS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [fence.jobId, later]);
    }),

    test("C14 a leased job is never deleted, expired or not", async (world) => {
      const fence = await leased(world);
      assertHas((await world.store.delete([fence.jobId], OPTIONS))[0], { outcome: "conflict", state: "leased" });
      await world.lapse(fence.jobId, LAPSE_MS);
      await claim(world, newOwner(), { takeover: false });
      assertHas((await world.store.delete([fence.jobId], OPTIONS))[0], { outcome: "conflict", state: "leased" });
      await settled(world, complete(fence));
    }),

    test("C14 ready, delayed and ended jobs are deleted, and are gone then", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      const ids = [fence.jobId, ...(await enqueuedMany(world, [{}, { due: { delayMs: HOUR_MS } }]))];
      const answers = await world.store.delete([...ids, newId()], OPTIONS);
      assert.deepEqual(
        answers.map(({ outcome }) => outcome),
        ["applied", "applied", "applied", "gone"],
      );
      assert.deepEqual(await world.store.get(ids, OPTIONS), [undefined, undefined, undefined]);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      assert.deepEqual(await world.store.settle([complete(fence)], OPTIONS), [{ outcome: "gone" }]);
    }),

    test("C14 pruning removes ended jobs of the given age, at most `limit`, and nothing else", async (world) => {
      const ended: JobId[] = [];
      for (let n = 0; n < 5; n += 1) {
        const fence = await leased(world);
        await settled(world, n === 0 ? fail(fence, "final") : complete(fence));
        ended.push(fence.jobId);
      }
      const held = await leased(world);
      const [ready] = await enqueuedMany(world, [{}]);
      await world.lapse(held.jobId, LAPSE_MS);

      const { store } = world;
      assert.equal(await store.prune({ completedMs: HOUR_MS, failedMs: HOUR_MS }, 100, OPTIONS), 0);
      assert.equal(await store.prune({ completedMs: 0, failedMs: HOUR_MS }, 3, OPTIONS), 3);
      assert.equal(await store.prune({ completedMs: 0, failedMs: HOUR_MS }, 100, OPTIONS), 1);
      const left = (await store.list({}, { limit: 100 }, OPTIONS)).jobs.map(({ jobId }) => jobId);
      assert.deepEqual(left.toSorted(), [ended[0], held.jobId, ready].toSorted());
      assert.equal(await store.prune({ completedMs: 0, failedMs: 0 }, 100, OPTIONS), 1);
      await settled(world, complete(held));
    }),

    test("C14 a pruned job answers `gone`", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      await world.store.prune({ completedMs: 0, failedMs: 0 }, 100, OPTIONS);
      assert.deepEqual(await world.store.settle([complete(fence)], OPTIONS), [{ outcome: "gone" }]);
      assert.deepEqual(await world.store.renew([fence], OPTIONS), [{ outcome: "gone" }]);
      assert.deepEqual(await world.store.retry([fence.jobId], false, OPTIONS), [{ outcome: "gone" }]);
    }),

    test("after the floor was raised every claim, revoke, retry and C12 lies above the new epoch", async (world) => {
      const old = await leased(world, { queue: "old" });
      const doomed = await leased(world, { queue: "doomed", maxAttempts: 1 });
      const done = await leased(world);
      await settled(world, complete(done));
      const { epoch } = await world.store.raiseFloor(OPTIONS);
      const above = gen(epoch * EPOCH_SIZE + 1);

      await world.store.revoke([old.jobId], OPTIONS);
      await world.store.retry([done.jobId], false, OPTIONS);
      await world.lapse(doomed.jobId, LAPSE_MS);
      await claim(world, newOwner(), { queues: ["doomed"] });
      for (const { jobId } of [old, done, doomed]) assert.equal((await row(world, jobId)).generation, above);
      const next = await claimOne(world, newOwner());
      assert.equal(next.job.generation, above + 1);
      await settled(world, complete(fenceOf(next)));
    }),

    test("a lease from before the floor was raised lapses and is then claimed like any other", async (world) => {
      const old = await leased(world);
      const { epoch } = await world.store.raiseFloor(OPTIONS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await world.lapse(old.jobId, LAPSE_MS);
      assert.equal((await claimOne(world, newOwner())).job.generation, epoch * EPOCH_SIZE + 1);
    }),

    test("C19 a heal lifts the generation to the mark and gives the job back with its attempt", async (world) => {
      const fence = await leased(world);
      const answer = await world.store.heal(fence, gen(40), OPTIONS);
      assertHas(answer, { outcome: "applied", state: "ready", generation: 40 });
      assertHas(await row(world, fence.jobId), { state: "ready", owner: null, generation: 40, attempt: 0, heals: 1 });
      assertHas((await world.store.settle([complete(fence)], OPTIONS))[0], { outcome: "stale", generation: 40, reason: "healed" });
      assertHas((await claimOne(world, newOwner())).job, { generation: 41, attempt: 1 });
    }),

    test("C19 a mark below the generation lowers nothing", async (world) => {
      const { b } = await reclaimed(world);
      await world.store.heal(b, gen(1), OPTIONS);
      assert.equal((await row(world, b.jobId)).generation, 2);
      assert.equal((await claimOne(world, newOwner())).job.generation, 3);
    }),

    test("C19 a mark more than one epoch above the store's is left to a person", async (world) => {
      const fence = await leased(world);
      const answer = await world.store.heal(fence, gen(2 * EPOCH_SIZE), OPTIONS);
      assertHas(answer, { outcome: "too_high", generation: 1 });
      await settled(world, complete(fence));
    }),

    test("C19 the third heal of a job fails it", async (world) => {
      const jobId = await enqueued(world);
      for (const mark of [10, 20, 30]) {
        const fence = fenceOf(await claimOne(world, newOwner()));
        assertHas(await world.store.heal(fence, gen(mark), OPTIONS), { outcome: "applied", state: mark === 30 ? "failed" : "ready" });
      }
      assertHas(await row(world, jobId), { state: "failed", endReason: "mark", generation: 30 });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),
  ],
};
