import assert from "node:assert/strict";
import type { OnFailure } from "../../protocol/blocking.ts";
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
  journalOf,
  leased,
  newId,
  newJob,
  newOwner,
  nth,
  OPTIONS,
  release,
  row,
  settled,
  twoHandles,
} from "./fixtures.ts";
import { type Chapter, type TestWorld, test } from "./harness.ts";

/** In a queue of its own, so that claims of the others do not meet it. */
const LATER = "later";

const after = (onFailure: OnFailure, ...ids: JobId[]): Partial<NewJob> => ({
  queue: LATER,
  after: { ids, onFailure },
});

const later = async (world: TestWorld): Promise<JobId[]> =>
  claimedIds(await claim(world, newOwner(), { queues: [LATER], limit: 100 }));

const unknownJob = (jobId: JobId) => ({ code: "LH_UNKNOWN_JOB", jobId });

export const dependencies: Chapter = {
  name: "dependencies",
  tests: [
    test("a job runs after all that it waits for have completed, not before", async (world) => {
      const [a, b] = await enqueuedMany(world, [{}, {}]);
      const id = await enqueued(world, after("fail", nth([a, b], 0) as JobId, b as JobId));
      assertHas(await row(world, id), { state: "ready", blockedBy: 2 });
      const { jobs } = await claim(world, newOwner());
      await settled(world, complete(fenceOf(nth(jobs, 0))));
      assert.deepEqual(await later(world), []);
      assertHas(await row(world, id), { blockedBy: 1 });
      await settled(world, complete(fenceOf(nth(jobs, 1))));
      assert.deepEqual(await later(world), [id]);
    }),

    test("what has completed already is not waited for", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      const id = await enqueued(world, after("fail", fence.jobId));
      assertHas(await row(world, id), { blockedBy: 0 });
      assert.deepEqual(await later(world), [id]);
    }),

    test("what is freed while its resource is held waits for that as well, and has it when it is given up", async (world) => {
      const first = await leased(world);
      const holder = await leased(world, { resource: "account:1" });
      const id = await enqueued(world, { ...after("fail", first.jobId), resource: "account:1" });
      await settled(world, complete(first));
      assertHas(await row(world, id), { state: "ready", blockedBy: 0 });
      assert.deepEqual(await later(world), []);
      await settled(world, complete(holder));
      assert.deepEqual(await later(world), [id]);
    }),

    test("what is freed in a queue with a limit is claimed within it", async (world) => {
      await world.store.limitQueue(LATER, { concurrency: 1, rate: null }, OPTIONS);
      const fence = await leased(world);
      const ids = await enqueuedMany(world, [after("fail", fence.jobId), after("fail", fence.jobId)]);
      await settled(world, complete(fence));
      assert.deepEqual(await later(world), ids.slice(0, 1));
      assert.deepEqual(await later(world), []);
    }),

    test("a job named twice is waited for once", async (world) => {
      const fence = await leased(world);
      const id = await enqueued(world, after("fail", fence.jobId, fence.jobId));
      await settled(world, complete(fence));
      assert.deepEqual(await later(world), [id]);
    }),

    test("an attempt that failed, a release and a revoke free nobody", async (world) => {
      const fence = await leased(world);
      const id = await enqueued(world, after("run", fence.jobId));
      await settled(world, fail(fence));
      await settled(world, release(fenceOf(await claimOne(world, newOwner()))));
      await claimOne(world, newOwner());
      await world.store.revoke([fence.jobId], OPTIONS);
      assert.deepEqual(await later(world), []);
      assertHas(await row(world, id), { blockedBy: 1 });
    }),

    test("*fail*: what waits for a failed job ends as failed (dependency), and so on down the line", async (world) => {
      const fence = await leased(world);
      const first = await enqueued(world, after("fail", fence.jobId));
      const second = await enqueued(world, after("fail", first));
      const third = await enqueued(world, after("run", second));
      await settled(world, fail(fence, "final"));
      for (const id of [first, second]) {
        assertHas(await row(world, id), {
          state: "failed",
          endReason: "dependency",
          blockedBy: 0,
          attempt: 0,
        });
      }
      assert.deepEqual(await later(world), [third]);
      assert.deepEqual(
        (await journalOf(world, second)).map(({ kind }) => kind),
        ["enqueued", "failed"],
      );
      const counts = (await world.store.counts(OPTIONS)).find(({ queue }) => queue === LATER);
      assertHas(counts, { failed: 2, blocked: 0 });
    }),

    test("*fail*: a cancelled or deleted job fails what waits for it, too", async (world) => {
      const [a, b] = (await enqueuedMany(world, [{}, {}])) as [JobId, JobId];
      const [c, d] = (await enqueuedMany(world, [after("fail", a), after("fail", b)])) as [JobId, JobId];
      await world.store.cancel([a], OPTIONS);
      await world.store.delete([b], OPTIONS);
      for (const id of [c, d]) assertHas(await row(world, id), { state: "failed", endReason: "dependency" });
    }),

    test("*run*: any end will do", async (world) => {
      const [a, b, c] = (await enqueuedMany(world, [{}, {}, {}])) as [JobId, JobId, JobId];
      const id = await enqueued(world, after("run", a, b, c));
      await world.store.cancel([a], OPTIONS);
      await world.store.delete([b], OPTIONS);
      assert.deepEqual(await later(world), []);
      await settled(world, fail(fenceOf(await claimOne(world, newOwner())), "final"));
      assert.deepEqual(await later(world), [id]);
      assertHas(await row(world, c), { state: "failed" });
    }),

    test("*wait*: a failed job keeps the next one blocked until its retry has completed", async (world) => {
      const fence = await leased(world);
      const id = await enqueued(world, after("wait", fence.jobId));
      await settled(world, fail(fence, "final"));
      assertHas(await row(world, id), { state: "ready", blockedBy: 1 });
      assert.deepEqual((await world.store.order.waits(id, OPTIONS))?.blockers, [
        { kind: "job", jobId: fence.jobId, state: "failed", onFailure: "wait" },
      ]);
      await world.store.retry([fence.jobId], false, OPTIONS);
      await settled(world, fail(fenceOf(await claimOne(world, newOwner())), "final"));
      assert.deepEqual(await later(world), []);
      await world.store.retry([fence.jobId], false, OPTIONS);
      await settled(world, complete(fenceOf(await claimOne(world, newOwner()))));
      assert.deepEqual(await later(world), [id]);
    }),

    test("*wait*: pruning spares what is waited for, and a deletion fails who waits", async (world) => {
      const fence = await leased(world);
      const id = await enqueued(world, after("wait", fence.jobId));
      await settled(world, fail(fence, "final"));
      assert.equal(await world.store.prune({ completedMs: 0, failedMs: 0 }, 10, OPTIONS), 0);
      await world.store.delete([fence.jobId], OPTIONS);
      assertHas(await row(world, id), { state: "failed", endReason: "dependency" });
    }),

    test("after a job that has failed already: *fail* ends at once, *wait* waits, *run* is due", async (world) => {
      const fence = await leased(world);
      await settled(world, fail(fence, "final"));
      const ids = await enqueuedMany(
        world,
        (["fail", "wait", "run"] as const).map((on) => after(on, fence.jobId)),
      );
      assert.deepEqual(
        (await world.store.get(ids, OPTIONS)).map((job) => [job?.state, job?.endReason, job?.blockedBy]),
        [
          ["failed", "dependency", 0],
          ["ready", null, 1],
          ["ready", null, 0],
        ],
      );
      assert.deepEqual(await later(world), [ids[2]]);
    }),

    test("an id that nobody knows, or that comes later in the call, is refused before anything is written", async (world) => {
      const [other, self, unknown, gone] = [newJob(), newJob(), newId(), await enqueued(world)];
      await world.store.delete([gone], OPTIONS);
      const second = newJob();
      const calls: [NewJob[], JobId][] = [
        [[other, newJob(after("fail", unknown))], unknown],
        [[other, newJob(after("run", gone))], gone],
        [[other, newJob(after("run", second.jobId)), second], second.jobId],
        [[other, { ...self, after: { ids: [self.jobId], onFailure: "run" } }], self.jobId],
      ];
      for (const [jobs, id] of calls) {
        await assert.rejects(world.store.enqueue(jobs, OPTIONS), unknownJob(id));
        assert.deepEqual(await world.store.get([other.jobId], OPTIONS), [undefined]);
      }
    }),

    test("jobs of one call may wait for those before them: a diamond in one call", async (world) => {
      const top = newJob();
      const middle = Array.from({ length: 5 }, () => newJob(after("fail", top.jobId)));
      const bottom = newJob(after("fail", ...middle.map(({ jobId }) => jobId)));
      const answers = await world.store.enqueue([top, ...middle, bottom], OPTIONS);
      assert.ok(answers.every(({ outcome }) => outcome === "enqueued"));
      await settled(world, complete(fenceOf(await claimOne(world, newOwner()))));
      const { jobs } = await claim(world, newOwner(), { queues: [LATER] });
      assert.deepEqual(
        jobs.map(({ job }) => job.jobId),
        middle.map(({ jobId }) => jobId),
      );
      await world.store.settle(
        jobs.map((job) => complete(fenceOf(job))),
        OPTIONS,
      );
      assert.deepEqual(await later(world), [bottom.jobId]);
    }),

    test("a member of the call whose key was taken stands for the job that has it", async (world) => {
      const unique = { key: "k", onConflict: "keep" } as const;
      const fence = await leased(world, { unique });
      const other = newJob({ unique });
      const job = newJob(after("fail", other.jobId));
      const answers = await world.store.enqueue([other, job], OPTIONS);
      assertHas(answers[0], { outcome: "kept", jobId: fence.jobId });
      assertHas(await row(world, job.jobId), { blockedBy: 1 });
      await settled(world, complete(fence));
      assert.deepEqual(await later(world), [job.jobId]);
    }),

    test("C17 a blocked job holds its unique key", async (world) => {
      const fence = await leased(world);
      const unique = { key: "k", onConflict: "keep" } as const;
      const id = await enqueued(world, { ...after("fail", fence.jobId), unique });
      assertHas((await world.store.enqueue([newJob({ unique })], OPTIONS))[0], {
        outcome: "kept",
        jobId: id,
      });
      await world.store.enqueue(
        [newJob({ queue: LATER, unique: { ...unique, onConflict: "replace" }, input: '"new"' })],
        OPTIONS,
      );
      assertHas(await row(world, id), { blockedBy: 1, input: '"new"' });
      assert.deepEqual(await later(world), []);
      await settled(world, complete(fence));
      assert.deepEqual(await later(world), [id]);
    }),

    test("a blocked job can be cancelled and deleted, and is nobody's to be freed any more", async (world) => {
      const fence = await leased(world);
      const [a, b] = (await enqueuedMany(world, [
        after("fail", fence.jobId),
        after("fail", fence.jobId),
      ])) as [JobId, JobId];
      const next = await enqueued(world, after("run", a));
      await world.store.cancel([a], OPTIONS);
      await world.store.delete([b], OPTIONS);
      assert.deepEqual(await later(world), [next]);
      await settled(world, complete(fence));
      assertHas(await row(world, a), { state: "cancelled", blockedBy: 0 });
      assert.deepEqual(await world.store.get([b], OPTIONS), [undefined]);
    }),

    test("C18 a retry of what waited once waits for nobody", async (world) => {
      const fence = await leased(world);
      const id = await enqueued(world, after("wait", fence.jobId));
      await world.store.cancel([id], OPTIONS);
      await world.store.retry([id], false, OPTIONS);
      assertHas(await row(world, id), { blockedBy: 0, state: "ready" });
      assert.deepEqual(await later(world), [id]);
      await settled(world, complete(fence));
    }),

    test("a delay is kept when a job is freed", async (world) => {
      const fence = await leased(world);
      const id = await enqueued(world, { ...after("fail", fence.jobId), due: { delayMs: 60_000 } });
      await world.lapse(id, 61_000);
      assert.deepEqual(await later(world), []);
      await settled(world, complete(fence));
      assert.deepEqual(await later(world), [id]);
    }),

    test("a freed job takes its place by seq, and still needs its resource", async (world) => {
      const fence = await leased(world, { resource: "desk" });
      const first = await enqueued(world, { ...after("fail", fence.jobId), resource: "desk" });
      const second = await enqueued(world, { queue: LATER });
      await settled(world, complete(fence));
      assert.deepEqual(await later(world), [first, second]);
    }),

    test("C1 a repeated job is not blocked anew", async (world) => {
      const fence = await leased(world);
      const job = newJob({ ...after("fail", fence.jobId), mayRepeat: true });
      await world.store.enqueue([job], OPTIONS);
      assertHas((await world.store.enqueue([job], OPTIONS))[0], { outcome: "repeated" });
      assertHas(await row(world, job.jobId), { blockedBy: 1 });
      await settled(world, complete(fence));
      assertHas((await world.store.enqueue([job], OPTIONS))[0], { outcome: "repeated" });
      assert.deepEqual(await later(world), [job.jobId]);
    }),

    test("of many that end at once each is counted: what waits for all is due", async (world) => {
      const ids = await enqueuedMany(
        world,
        Array.from({ length: 40 }, () => ({})),
      );
      const id = await enqueued(world, after("fail", ...ids));
      const { jobs } = await claim(world, newOwner(), { limit: 100 });
      const handles = await twoHandles(world);
      let left = jobs.map((job) => complete(fenceOf(job)));
      while (left.length > 0) {
        const tried = left;
        const answers = await Promise.all(
          tried.map(async (one, n) => nth(await nth(handles, n % 2).settle([one], OPTIONS), 0)),
        );
        left = tried.filter((_, n) => answers[n]?.outcome === "busy");
      }
      assert.deepEqual(await later(world), [id]);
    }),

    test("a job that ends while another is enqueued after it, in a caller's transaction, strands nobody", async (world) => {
      const fence = await leased(world);
      const job = newJob(after("fail", fence.jobId));
      const caller = await world.begin();
      await world.store.enqueue([job], { ...OPTIONS, tx: caller.tx });
      const ending = world.store.settle([complete(fence)], OPTIONS);
      await Promise.all([ending, caller.commit()]);
      if (nth(await ending, 0).outcome === "busy") await settled(world, complete(fence));
      assert.deepEqual(await later(world), [job.jobId]);
    }),

    test("a caller's transaction that is rolled back leaves nobody waited for", async (world) => {
      const fence = await leased(world);
      const caller = await world.begin();
      const job = newJob(after("fail", fence.jobId));
      await world.store.enqueue([job], { ...OPTIONS, tx: caller.tx });
      await caller.rollback();
      await settled(world, complete(fence));
      assert.deepEqual(await world.store.get([job.jobId], OPTIONS), [undefined]);
    }),

    test("a long line of failures ends in bounded steps, which later claims go on with", async (world) => {
      const fence = await leased(world);
      const wide = Array.from({ length: 700 }, () => newJob(after("fail", fence.jobId)));
      const deep: NewJob[] = [];
      for (let n = 0; n < 700; n += 1) deep.push(newJob(after("fail", deep.at(-1)?.jobId ?? fence.jobId)));
      await world.store.enqueue([...wide, ...deep], OPTIONS);
      await settled(world, fail(fence, "final"));
      for (let n = 0; n < 20; n += 1) assert.deepEqual(await later(world), []);
      const jobs = await world.store.get(
        [...wide, ...deep].map(({ jobId }) => jobId),
        OPTIONS,
      );
      assert.equal(jobs.filter((job) => job?.endReason === "dependency").length, 1_400);
    }),
  ],
};
