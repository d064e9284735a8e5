import assert from "node:assert/strict";
import type { NewJob } from "../../protocol/enqueue.ts";
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
  leased,
  newJob,
  newOwner,
  nth,
  OPTIONS,
  row,
  settled,
  twoHandles,
} from "./fixtures.ts";
import { type Chapter, type TestWorld, test } from "./harness.ts";

const NAME = "import-1";
const THEN = "report";
const member: Partial<NewJob> = { batch: { name: NAME, as: "member" } };

/** Runs when all have ended; in a queue of its own. */
const then = (): NewJob => newJob({ queue: THEN, batch: { name: NAME, as: "then" } });

const counts = (world: TestWorld) => world.store.order.batch(NAME, OPTIONS);

const reports = async (world: TestWorld): Promise<JobId[]> =>
  claimedIds(await claim(world, newOwner(), { queues: [THEN] }));

export const batches: Chapter = {
  name: "batches",
  tests: [
    test("a batch counts its members, and those that have ended, by their ends", async (world) => {
      assert.equal(await counts(world), undefined);
      await enqueuedMany(world, [member, member, member, member, {}]);
      const { jobs } = await claim(world, newOwner(), { limit: 3 });
      const fence = (n: number) => fenceOf(nth(jobs, n));
      await settled(world, complete(fence(0)));
      await settled(world, fail(fence(1), "final"));
      await settled(world, fail(fence(2)));
      await world.store.cancel([fence(2).jobId], OPTIONS);
      const found = { name: NAME, total: 4, completed: 1, failed: 1, cancelled: 1, thenId: null };
      assert.deepEqual(await counts(world), found);
      assert.equal((await world.store.order.waits(fence(0).jobId, OPTIONS))?.batch, NAME);
    }),

    test("`then` runs once all have ended, however they did", async (world) => {
      const last = then();
      await world.store.enqueue([newJob(member), newJob(member), last], OPTIONS);
      assertHas(await counts(world), { total: 2, thenId: last.jobId });
      assertHas(await row(world, last.jobId), { state: "ready", blockedBy: 1 });
      assert.deepEqual((await world.store.order.waits(last.jobId, OPTIONS))?.blockers, [
        { kind: "batch", name: NAME },
      ]);
      const { jobs } = await claim(world, newOwner());
      await settled(world, complete(fenceOf(nth(jobs, 0))));
      assert.deepEqual(await reports(world), []);
      await settled(world, fail(fenceOf(nth(jobs, 1)), "final"));
      assert.deepEqual(await reports(world), [last.jobId]);
      assertHas(await counts(world), { completed: 1, failed: 1 });
    }),

    test("calls add to a batch until one brings `then`, which may come when all have ended already", async (world) => {
      await settled(world, complete(await leased(world, member)));
      await settled(world, complete(await leased(world, member)));
      const last = then();
      await world.store.enqueue([last], OPTIONS);
      assertHas(await counts(world), { total: 2, completed: 2 });
      assert.deepEqual(await reports(world), [last.jobId]);
    }),

    test("`then` of a batch without members runs at once", async (world) => {
      const last = then();
      await world.store.enqueue([last], OPTIONS);
      assertHas(await counts(world), { total: 0, thenId: last.jobId });
      assert.deepEqual(await reports(world), [last.jobId]);
    }),

    test("a batch with its `then` takes nobody else, and says so before anything is written", async (world) => {
      const jobs = [newJob({ ...member, mayRepeat: true }), { ...then(), mayRepeat: true }];
      await world.store.enqueue(jobs, OPTIONS);
      const other = newJob();
      for (const late of [newJob(member), then()]) {
        await assert.rejects(world.store.enqueue([other, late], OPTIONS), {
          code: "LH_BATCH_SEALED",
          batch: NAME,
        });
        assert.deepEqual(await world.store.get([other.jobId, late.jobId], OPTIONS), [undefined, undefined]);
      }
      const repeated = await world.store.enqueue(jobs, OPTIONS);
      assert.ok(repeated.every(({ outcome }) => outcome === "repeated"));
      assertHas(await counts(world), { total: 1 });
    }),

    test("C17 only what was enqueued is a member: what keeps its key is not", async (world) => {
      const unique = { key: "k", onConflict: "keep" } as const;
      await enqueued(world, { unique });
      await world.store.enqueue([newJob({ ...member, unique }), newJob(member)], OPTIONS);
      assertHas(await counts(world), { total: 1 });
    }),

    test("C18 a retry after the batch has ended: its counts stay right, and `then` does not run again", async (world) => {
      const last = then();
      await world.store.enqueue([newJob(member), last], OPTIONS);
      const fence = fenceOf(await claimOne(world, newOwner()));
      await settled(world, fail(fence, "final"));
      assert.deepEqual(await reports(world), [last.jobId]);
      await world.store.retry([fence.jobId], false, OPTIONS);
      assertHas(await counts(world), { total: 1, failed: 0, completed: 0 });
      await settled(world, complete(fenceOf(await claimOne(world, newOwner()))));
      assertHas(await counts(world), { total: 1, failed: 0, completed: 1 });
      assert.deepEqual(await reports(world), []);
    }),

    test("C14 a live member that is deleted has ended for its batch; an ended one has been counted", async (world) => {
      const last = then();
      const [a, b] = [newJob(member), newJob(member)];
      await world.store.enqueue([a, b, last], OPTIONS);
      await world.store.delete([b.jobId], OPTIONS);
      await settled(world, complete(fenceOf(await claimOne(world, newOwner()))));
      await world.store.delete([a.jobId], OPTIONS);
      assertHas(await counts(world), { total: 2, completed: 1, cancelled: 1 });
      assert.deepEqual(await reports(world), [last.jobId]);
    }),

    test("a member that fails because of another one is counted", async (world) => {
      const first = newJob(member);
      const last = then();
      const second = newJob({ ...member, after: { ids: [first.jobId], onFailure: "fail" } });
      await world.store.enqueue([first, second, last], OPTIONS);
      await world.store.cancel([first.jobId], OPTIONS);
      assert.deepEqual(await reports(world), [last.jobId]);
      assertHas(await counts(world), { total: 2, failed: 1, cancelled: 1 });
    }),

    test("`then` can be cancelled before; and what waits for it hears of its end", async (world) => {
      const last = then();
      await world.store.enqueue([newJob(member), last], OPTIONS);
      const next = await enqueued(world, { queue: THEN, after: { ids: [last.jobId], onFailure: "run" } });
      await world.store.cancel([last.jobId], OPTIONS);
      assert.deepEqual(await reports(world), [next]);
      await settled(world, complete(fenceOf(await claimOne(world, newOwner()))));
      assert.deepEqual(await reports(world), []);
      assertHas(await row(world, last.jobId), { state: "cancelled", blockedBy: 0 });
    }),

    test("of many members that end at once each is counted, and `then` runs once", async (world) => {
      const last = then();
      await world.store.enqueue([...Array.from({ length: 40 }, () => newJob(member)), last], OPTIONS);
      const { jobs } = await claim(world, newOwner(), { limit: 100 });
      const handles = await twoHandles(world);
      const answers = await Promise.all(
        jobs.map((job, n) => nth(handles, n % 2).settle([complete(fenceOf(job))], OPTIONS)),
      );
      assert.ok(answers.flat().every(({ outcome }) => outcome === "applied"));
      assert.deepEqual(await reports(world), [last.jobId]);
      assertHas(await counts(world), { total: 40, completed: 40 });
    }),

    test("in a caller's transaction a batch is there when that commits, and not after a rollback", async (world) => {
      const lost = await world.begin();
      await world.store.enqueue([newJob(member), then()], { ...OPTIONS, tx: lost.tx });
      await lost.rollback();
      assert.equal(await counts(world), undefined);
      const kept = await world.begin();
      const last = then();
      await world.store.enqueue([newJob(member), last], { ...OPTIONS, tx: kept.tx });
      await kept.commit();
      await settled(world, complete(fenceOf(await claimOne(world, newOwner()))));
      assert.deepEqual(await reports(world), [last.jobId]);
    }),

    test("C14 pruning removes a batch that has ended, not one that has not", async (world) => {
      const prune = () => world.store.prune({ completedMs: 0, failedMs: 0 }, 10, OPTIONS);
      await enqueuedMany(world, [member, member]);
      await settled(world, complete(fenceOf(await claimOne(world, newOwner(), { limit: 1 }))));
      await prune();
      assertHas(await counts(world), { total: 2, completed: 1 });
      await settled(world, complete(fenceOf(await claimOne(world, newOwner()))));
      await prune();
      assert.equal(await counts(world), undefined);
    }),
  ],
};
