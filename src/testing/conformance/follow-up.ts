import assert from "node:assert/strict";
import type { NewJob } from "../../protocol/enqueue.ts";
import { generation, type JobId } from "../../protocol/identity.ts";
import type { Store } from "../../stores/store.ts";
import {
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  fail,
  fenceOf,
  LAPSE_MS,
  leased,
  newJob,
  newOwner,
  OPTIONS,
  QUEUE,
  release,
  row,
  settled,
  twoHandles,
} from "./fixtures.ts";
import { type Chapter, type TestWorld, test } from "./harness.ts";

const unique = { key: "customer-42", onConflict: "followUp" } as const;
const followUp: Partial<NewJob> = { unique };
const keep: Partial<NewJob> = { unique: { ...unique, onConflict: "keep" } };
const replace: Partial<NewJob> = { unique: { ...unique, onConflict: "replace" } };

/** Enqueues one behind the live job `holder`. */
async function followed(
  world: { readonly store: Store },
  holder: JobId,
  change: Partial<NewJob> = {},
): Promise<JobId> {
  const job = newJob({ ...followUp, ...change });
  const [answer] = await world.store.enqueue([job], OPTIONS);
  assert.deepEqual(answer, { outcome: "enqueued", jobId: job.jobId, behind: holder });
  return job.jobId;
}

/** Every way in which a live job comes to its end. */
const ENDS: Readonly<Record<string, (world: TestWorld, id: JobId) => Promise<unknown>>> = {
  completed: async (world) => settled(world, complete(fenceOf(await claimOne(world, newOwner())))),
  "completed with the caller's writes": async (world) => {
    const fence = fenceOf(await claimOne(world, newOwner()));
    await world.store.completeWith(fence, async () => null, OPTIONS);
  },
  "failed for good": async (world) =>
    settled(world, fail(fenceOf(await claimOne(world, newOwner())), "final")),
  "out of attempts": async (world) => settled(world, fail(fenceOf(await claimOne(world, newOwner())))),
  cancelled: async ({ store }, id) => store.cancel([id], OPTIONS),
  "cancelled while it ran": async (world, id) => {
    const fence = fenceOf(await claimOne(world, newOwner()));
    await world.store.cancel([id], OPTIONS);
    await settled(world, release(fence));
  },
  "revoked after a cancel": async (world, id) => {
    await claimOne(world, newOwner());
    await world.store.cancel([id], OPTIONS);
    await world.store.revoke([id], OPTIONS);
  },
  lapsed: async (world, id) => {
    await claimOne(world, newOwner());
    await world.lapse(id, LAPSE_MS);
    const { ended } = await claim(world, newOwner());
    assert.deepEqual(
      ended.map(({ jobId }) => jobId),
      [id],
    );
  },
  deleted: async ({ store }, id) => store.delete([id], OPTIONS),
  "failed after three heals": async (world) => {
    for (let n = 1; n <= 3; n += 1) {
      const fence = fenceOf(await claimOne(world, newOwner()));
      await world.store.heal(fence, generation(fence.generation + 1), OPTIONS);
    }
  },
};

export const followUpChapter: Chapter = {
  name: "follow-up",
  tests: [
    test("C17 *followUp* with a free key enqueues as ever", async (world) => {
      const id = await enqueued(world, followUp);
      assertHas(await row(world, id), { blockedBy: 0 });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [id]);
    }),

    test("C17 *followUp* is blocked behind the live job, be that ready or leased", async (world) => {
      const holder = await enqueued(world, followUp);
      const next = await followed(world, holder);
      assertHas(await row(world, next), { state: "ready", blockedBy: 1, uniqueKey: unique.key });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [holder]);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      assert.deepEqual((await world.store.order.waits(next, OPTIONS))?.blockers, [
        { kind: "job", jobId: holder, state: "leased", onFailure: "run" },
      ]);
      const counts = (await world.store.counts(OPTIONS)).find(({ queue }) => queue === QUEUE);
      assertHas(counts, { ready: 1, blocked: 1, delayed: 0, leased: 1 });
    }),

    test("C17 a second *followUp* changes the blocked one: the newest input wins", async (world) => {
      const holder = await enqueued(world, followUp);
      const next = await followed(world, holder, { input: '"old"' });
      const { seq } = await row(world, next);
      const again = newJob({ ...followUp, input: '"new"', maxAttempts: 2 });
      assert.deepEqual(await world.store.enqueue([again], OPTIONS), [{ outcome: "replaced", jobId: next }]);
      assertHas(await row(world, next), {
        seq,
        input: '"new"',
        maxAttempts: 2,
        blockedBy: 1,
        state: "ready",
      });
      assert.deepEqual(await world.store.get([again.jobId], OPTIONS), [undefined]);
      assertHas(await row(world, holder), { input: '{"to":"Ada"}' });
    }),

    test("C17 three of one call are one live, one blocked, and the newest input in that", async (world) => {
      const jobs = ["1", "2", "3"].map((input) => newJob({ ...followUp, input }));
      const [first, second] = jobs.map(({ jobId }) => jobId) as [JobId, JobId];
      assert.deepEqual(await world.store.enqueue(jobs, OPTIONS), [
        { outcome: "enqueued", jobId: first },
        { outcome: "enqueued", jobId: second, behind: first },
        { outcome: "replaced", jobId: second },
      ]);
      assertHas(await row(world, second), { input: "3" });
    }),

    ...Object.entries(ENDS).map(([end, bring]) =>
      test(`C17 the follow-up has the key and is due once the live job has ended: ${end}`, async (world) => {
        const holder = await enqueued(world, { ...followUp, maxAttempts: 1 });
        // In a queue of its own, so that whatever ends the first does not claim it.
        const next = await followed(world, holder, { queue: "later" });
        await bring(world, holder);
        assertHas(await row(world, next), { state: "ready", blockedBy: 0, generation: 0 });
        assertHas((await world.store.enqueue([newJob(keep)], OPTIONS))[0], { outcome: "kept", jobId: next });
        assert.deepEqual(claimedIds(await claim(world, newOwner(), { queues: ["later"] })), [next]);
        await followed(world, next);
      }),
    ),

    test("C17 a failed attempt, a release, a lapse and a revoke free nobody: the job is still live", async (world) => {
      const fence = await leased(world, followUp);
      const next = await followed(world, fence.jobId);
      await settled(world, fail(fence));
      await settled(world, release(fenceOf(await claimOne(world, newOwner()))));
      await claimOne(world, newOwner());
      await world.store.revoke([fence.jobId], OPTIONS);
      await claimOne(world, newOwner());
      await world.lapse(fence.jobId, LAPSE_MS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [fence.jobId]);
      assertHas(await row(world, next), { blockedBy: 1 });
    }),

    test("C17 a blocked job can be cancelled or deleted, and another one takes its place", async (world) => {
      const holder = await enqueued(world, followUp);
      for (const end of ["cancel", "delete"] as const) {
        const next = await followed(world, holder);
        assertHas((await world.store[end]([next], OPTIONS))[0], { outcome: "applied" });
      }
      const next = await followed(world, holder);
      await settled(world, complete(fenceOf(await claimOne(world, newOwner()))));
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [next]);
    }),

    test("C17 *keep*, *throw* and *replace* go by the live job, whoever is blocked behind it", async (world) => {
      const holder = await enqueued(world, followUp);
      const next = await followed(world, holder);
      const refuse = newJob({ unique: { ...unique, onConflict: "throw" } });
      assert.deepEqual(await world.store.enqueue([newJob(keep), refuse, newJob(replace)], OPTIONS), [
        { outcome: "kept", jobId: holder, state: "ready" },
        { outcome: "conflict", jobId: holder, state: "ready" },
        { outcome: "replaced", jobId: holder },
      ]);
      assertHas(await row(world, next), { blockedBy: 1 });
    }),

    test("C17 *replace* of a job that was claimed before changes the one behind it, which has the key then", async (world) => {
      const fence = await leased(world, followUp);
      const next = await followed(world, fence.jobId);
      await settled(world, release(fence));
      const [answer] = await world.store.enqueue([newJob({ ...replace, input: '"new"' })], OPTIONS);
      assertHas(answer, { outcome: "replaced", jobId: next });
      assertHas(await row(world, fence.jobId), { state: "cancelled", endReason: "replaced" });
      assertHas(await row(world, next), { input: '"new"', blockedBy: 0 });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [next]);
    }),

    test("C18 a retry is a conflict while the follow-up has the key", async (world) => {
      const fence = await leased(world, followUp);
      await followed(world, fence.jobId);
      await settled(world, fail(fence, "final"));
      assertHas((await world.store.retry([fence.jobId], false, OPTIONS))[0], { outcome: "conflict" });
    }),

    test("C1 a repeated job id is that job, be it blocked or not", async (world) => {
      const holder = await enqueued(world, followUp);
      const job = newJob({ ...followUp, mayRepeat: true });
      assertHas((await world.store.enqueue([job], OPTIONS))[0], { outcome: "enqueued", behind: holder });
      assertHas((await world.store.enqueue([job], OPTIONS))[0], { outcome: "repeated", jobId: job.jobId });
      assertHas(await row(world, job.jobId), { blockedBy: 1 });
    }),

    test("C17 a delay of the follow-up is kept when it is freed", async (world) => {
      const holder = await enqueued(world, followUp);
      const next = await followed(world, holder, { due: { delayMs: 60_000 } });
      await world.store.cancel([holder], OPTIONS);
      assertHas(await row(world, next), { blockedBy: 0, state: "ready" });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await world.lapse(next, 61_000);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [next]);
    }),

    test("C17 of many who follow up at once one is live, one is blocked, and all hear of these two", async (world) => {
      const [here, there] = await twoHandles(world);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (n % 2 === 0 ? here : there).enqueue([newJob(followUp)], OPTIONS),
        ),
      );
      const made = answers.flat().filter(({ outcome }) => outcome === "enqueued");
      assert.equal(made.length, 2);
      assert.ok(answers.flat().every(({ jobId }) => made.some((one) => one.jobId === jobId)));
      const { jobs } = await world.store.list({ uniqueKey: unique.key }, { limit: 50 }, OPTIONS);
      assert.deepEqual(jobs.map(({ blockedBy }) => blockedBy).sort(), [0, 1]);
    }),

    test("C17 in a caller's transaction the follow-up is there when that commits, and not after a rollback", async (world) => {
      const holder = await enqueued(world, followUp);
      const lost = await world.begin();
      const job = newJob(followUp);
      await world.store.enqueue([job], { ...OPTIONS, tx: lost.tx });
      await lost.rollback();
      assert.deepEqual(await world.store.get([job.jobId], OPTIONS), [undefined]);
      const kept = await world.begin();
      const [answer] = await world.store.enqueue([newJob(followUp)], { ...OPTIONS, tx: kept.tx });
      await kept.commit();
      assertHas(answer, { outcome: "enqueued", behind: holder });
      await settled(world, complete(fenceOf(await claimOne(world, newOwner()))));
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [answer?.jobId]);
    }),
  ],
};
