import assert from "node:assert/strict";
import type { Owner } from "../../protocol/identity.ts";
import type { Store } from "../../stores/store.ts";
import {
  assertAfterNow,
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
  LEASE_MS,
  leased,
  newJob,
  newOwner,
  OPTIONS,
  QUEUE,
  reclaimed,
  release,
  required,
  row,
  settled,
  twoHandles,
} from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

export const claimChapter: Chapter = {
  name: "claim",
  tests: [
    test("C2 gives the job an owner, a generation, an attempt and a lease", async (world) => {
      const jobId = await enqueued(world);
      const owner = newOwner();
      const claimed = await claimOne(world, owner);
      assertHas(claimed.job, { jobId, state: "leased", owner, generation: 1, attempt: 1, expiredCount: 0, raisedBy: "claim" });
      assert.deepEqual(claimed.token, { line: `job:${jobId}`, generation: 1, owner });
      assert.equal(claimed.previous, undefined);
    }),

    test("C2 a claimed job is what reading finds", async (world) => {
      const jobId = await enqueued(world, { maxRunMs: 5_000, priority: 4 });
      const claimed = await claimOne(world, newOwner());
      assert.deepEqual(claimed.job, await row(world, jobId));
    }),

    test("C2 the lease ends one lease after the claim, by the store's clock", async (world) => {
      await enqueued(world);
      await assertAfterNow(world, LEASE_MS, async () => (await claimOne(world, newOwner())).job.leaseUntilMs);
    }),

    test("C2 never takes more than its limit", async (world) => {
      await enqueuedMany(world, Array.from({ length: 9 }, () => ({})));
      const first = await claim(world, newOwner(), { limit: 4 });
      for (const id of claimedIds(first)) await world.lapse(id, LAPSE_MS);
      const counts: number[] = [];
      for (const limit of [1, 5, 2, 5]) counts.push((await claim(world, newOwner(), { limit })).jobs.length);
      assert.deepEqual([first.jobs.length, ...counts], [4, 1, 5, 2, 1]);
    }),

    test("C2 takes nothing that is not due", async (world) => {
      await enqueued(world, { due: { delayMs: 3_600_000 } });
      const due = await enqueued(world);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [due]);
    }),

    test("C2 takes nothing from queues it was not asked for", async (world) => {
      await enqueued(world, { queue: "parcels" });
      const letter = await enqueued(world);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [letter]);
      assert.deepEqual(claimedIds(await claim(world, newOwner(), { queues: [] })), []);
    }),

    test("C2 leaves a lease alone that has not expired", async (world) => {
      const fence = await leased(world);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      assert.deepEqual(claimedIds(await claim(world, fence.owner)), []);
      assertHas(await row(world, fence.jobId), { owner: fence.owner, generation: 1, attempt: 1 });
    }),

    test("C2 a reclaim raises the generation and says who held the job before", async (world) => {
      const fence = await leased(world);
      await world.lapse(fence.jobId, LAPSE_MS);
      const owner = newOwner();
      const { job, token, previous } = await claimOne(world, owner);
      assertHas(job, { owner, generation: 2, attempt: 2, expiredCount: 1, state: "leased" });
      assert.equal(token.generation, 2);
      assertHas(previous, { owner: fence.owner, generation: 1 });
      const agoMs = previous?.endedAgoMs ?? 0;
      assert.ok(agoMs >= LAPSE_MS - LEASE_MS && agoMs < LEASE_MS, `the lease ended ${agoMs} ms ago`);
      assert.equal((await row(world, fence.jobId)).generation, 2);
    }),

    test("C2 with `takeover: false` leaves expired leases to their owners, and takes what is ready", async (world) => {
      const fence = await leased(world);
      await world.lapse(fence.jobId, LAPSE_MS);
      const ready = await enqueued(world);
      assert.deepEqual(claimedIds(await claim(world, newOwner(), { takeover: false })), [ready]);
      const [renewed] = await world.store.renew([fence], OPTIONS);
      assert.equal(renewed?.outcome, "applied");
    }),

    test("C2 skips a paused queue, whose leased jobs go on", async (world) => {
      const fence = await leased(world);
      await enqueued(world);
      await world.store.pause(QUEUE, true, OPTIONS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      const [renewed] = await world.store.renew([fence], OPTIONS);
      assert.equal(renewed?.outcome, "applied");
      await settled(world, complete(fence));
      await world.store.pause(QUEUE, false, OPTIONS);
      assert.equal((await claim(world, newOwner())).jobs.length, 1);
    }),

    test("a queue can be paused before it has a job", async (world) => {
      await world.store.pause("parcels", true, OPTIONS);
      await enqueued(world, { queue: "parcels" });
      assert.deepEqual(claimedIds(await claim(world, newOwner(), { queues: ["parcels"] })), []);
    }),

    test("C3 no two claims at once return the same job", async (world) => {
      const [here, there] = await twoHandles(world);
      await enqueuedMany(world, Array.from({ length: 40 }, () => ({})));
      const claims = await Promise.all(
        Array.from({ length: 12 }, (_, n) => claim({ store: n % 2 === 0 ? here : there }, newOwner(), { limit: 5 })),
      );
      const ids = claims.flatMap(claimedIds);
      assert.equal(ids.length, 40);
      assert.equal(new Set(ids).size, 40);
      assert.ok(claims.every(({ jobs }) => jobs.length <= 5));
    }),

    test("C3 of two claims at once on one expired job exactly one gets a new generation", async (world) => {
      const [here, there] = await twoHandles(world);
      const fence = await leased(world);
      await world.lapse(fence.jobId, LAPSE_MS);
      const claims = await Promise.all([claim({ store: here }, newOwner()), claim({ store: there }, newOwner())]);
      const jobs = claims.flatMap((claimed) => claimed.jobs);
      assert.equal(jobs.length, 1);
      assertHas(jobs[0]?.job, { generation: 2, attempt: 2 });
      assert.equal((await row(world, fence.jobId)).generation, 2);
    }),

    test("C12 an expired job out of attempts ends as failed, once, and its old owner is stale", async (world) => {
      const fence = await leased(world, { maxAttempts: 1 });
      await world.lapse(fence.jobId, LAPSE_MS);
      const first = await claim(world, newOwner());
      const second = await claim(world, newOwner());
      assert.deepEqual([first.jobs.length, second.jobs.length], [0, 0]);
      assert.deepEqual(
        first.ended.map(({ jobId, state, endReason }) => [jobId, state, endReason]),
        [[fence.jobId, "failed", "lease_expired"]],
      );
      assert.deepEqual(second.ended, []);
      assertHas(await row(world, fence.jobId), {
        state: "failed",
        endReason: "lease_expired",
        generation: 2,
        owner: null,
        leaseUntilMs: null,
        attempt: 1,
      });
      const [late] = await world.store.settle([complete(fence)], OPTIONS);
      assertHas(late, { outcome: "stale", generation: 2, state: "failed", endReason: "lease_expired", reason: "expired" });
    }),

    test("C12 ending expired jobs takes nothing from the limit", async (world) => {
      const fence = await leased(world, { maxAttempts: 1 });
      await world.lapse(fence.jobId, LAPSE_MS);
      const ready = await enqueued(world);
      const { jobs, ended } = await claim(world, newOwner(), { limit: 1 });
      assert.deepEqual([jobs.map(({ job }) => job.jobId), ended.map(({ jobId }) => jobId)], [[ready], [fence.jobId]]);
    }),

    test("C12 every expired job out of attempts is reached in a bounded number of claims", async (world) => {
      const ids = await enqueuedMany(world, Array.from({ length: 250 }, () => ({ maxAttempts: 1 })));
      await claim(world, newOwner(), { limit: 250 });
      for (const id of ids) await world.lapse(id, LAPSE_MS);
      let ended = 0;
      for (let n = 0; n < 25 && ended < ids.length; n += 1) ended += (await claim(world, newOwner())).ended.length;
      assert.equal(ended, 250);
    }),

    test("C12 attempts are counted when claimed, so that a job that kills its worker uses them up", async (world) => {
      const jobId = await enqueued(world, { maxAttempts: 3 });
      for (const attempt of [1, 2, 3]) {
        assertHas((await claimOne(world, newOwner())).job, { attempt, generation: attempt });
        await world.lapse(jobId, LAPSE_MS);
      }
      assert.equal((await claim(world, newOwner())).ended.length, 1);
      assertHas(await row(world, jobId), { state: "failed", attempt: 3, generation: 4, expiredCount: 3 });
    }),

    test("C15 lower priority numbers go first, then the order of arrival", async (world) => {
      const [b, c, a, d] = await enqueuedMany(world, [{ priority: 1 }, { priority: 1 }, { priority: -1 }, { priority: 2 }]);
      const order: unknown[] = [];
      for (let n = 0; n < 4; n += 1) order.push(...claimedIds(await claim(world, newOwner(), { limit: 1 })));
      assert.deepEqual(order, [a, b, c, d]);
    }),

    test("C15 one claim returns its jobs in their order", async (world) => {
      const [b, c, a] = await enqueuedMany(world, [{ priority: 1 }, { priority: 1 }, { priority: 0 }]);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [a, b, c]);
    }),

    test("C15 a delayed, a retried and an expired job take their places by `seq` when due", async (world) => {
      const [delayed, retried, expired, fresh] = await enqueuedMany(world, [{ due: { delayMs: 60_000 } }, {}, {}, {}]);
      const claimed = await claim(world, newOwner(), { limit: 2 });
      assert.deepEqual(claimedIds(claimed), [retried, expired]);
      await settled(world, fail(fenceOf(claimed.jobs[0]!), 60_000));
      for (const id of [delayed, retried, expired]) await world.lapse(id!, LAPSE_MS);
      const order: unknown[] = [];
      for (let n = 0; n < 4; n += 1) order.push(...claimedIds(await claim(world, newOwner(), { limit: 1 })));
      assert.deepEqual(order, [delayed, retried, expired, fresh]);
    }),

    test("C15 between queues a claim takes turns", async (world) => {
      for (const queue of ["a", "b", "c"]) await enqueuedMany(world, Array.from({ length: 5 }, () => ({ queue })));
      const { jobs } = await claim(world, newOwner(), { queues: ["a", "b", "c"], limit: 6 });
      const counts = ["a", "b", "c"].map((queue) => jobs.filter(({ job }) => job.queue === queue).length);
      assert.deepEqual(counts, [2, 2, 2]);
    }),

    test("C15 what one queue does not use goes to the others", async (world) => {
      await enqueued(world, { queue: "a" });
      await enqueuedMany(world, Array.from({ length: 9 }, () => ({ queue: "b" })));
      const { jobs } = await claim(world, newOwner(), { queues: ["a", "b", "none"], limit: 6 });
      assert.equal(jobs.length, 6);
      assert.equal(jobs.filter(({ job }) => job.queue === "a").length, 1);
    }),

    test("C15 a queue that is named twice counts once", async (world) => {
      const ids = await enqueuedMany(world, [{}, {}]);
      const claimed = await claim(world, newOwner(), { queues: [QUEUE, QUEUE] });
      assert.deepEqual(claimedIds(claimed), ids);
    }),

    test("C16 finds the one expired lease behind a thousand that have not", async (world) => {
      const ids = await enqueuedMany(world, Array.from({ length: 1_001 }, () => ({})));
      await claim(world, newOwner(), { limit: 1_001 });
      await world.lapse(ids[1_000]!, LAPSE_MS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [ids[1_000]]);
    }),

    test("says in how many ms the next delayed job is due", async (world) => {
      await enqueuedMany(world, [{ due: { delayMs: 90_000 } }, { due: { delayMs: 40_000 } }]);
      const { nextDueInMs } = await claim(world, newOwner());
      assert.ok(nextDueInMs !== undefined && nextDueInMs > 20_000 && nextDueInMs <= 40_000, `in ${nextDueInMs} ms`);
    }),

    test("knows of no next job where none is delayed", async (world) => {
      await enqueued(world);
      assert.equal((await claim(world, newOwner())).nextDueInMs, undefined);
    }),

    test("a lapse in a row is counted, and a settling by an owner begins anew", async (world) => {
      const { b } = await reclaimed(world);
      assert.equal((await row(world, b.jobId)).expiredCount, 1);
      await settled(world, release(b));
      assert.equal((await row(world, b.jobId)).expiredCount, 0);
    }),

    test("the journal tells of claim, lapse and reclaim with both fences", async (world) => {
      const { a, b } = await reclaimed(world);
      const entries = await world.store.journal(`job:${a.jobId}`, OPTIONS);
      const at = (kind: string, owner: Owner, generation: number): number =>
        entries.findIndex((entry) => entry.kind === kind && entry.owner === owner && entry.generation === generation);
      const order = [at("claimed", a.owner, 1), at("lapsed", a.owner, 1), at("claimed", b.owner, 2)];
      assert.ok(order.every((index) => index >= 0), `all are there: ${order}`);
      assert.ok(order[0]! < order[2]! && order[1]! < order[2]!, `the reclaim is last: ${order}`);
    }),

    test("lets two processes compete for the same jobs", async (world) => {
      const other = await required(world.competitor, "competitor")();
      const ids = await enqueuedMany(world, Array.from({ length: 120 }, () => ({})));
      const take = async (store: Store, owner: Owner): Promise<string[]> => {
        const { jobs } = await claim({ store }, owner, { limit: 3 });
        const answers = await store.settle(jobs.map((job) => complete(fenceOf(job))), OPTIONS);
        assert.ok(answers.every(({ outcome }) => outcome === "applied"));
        return jobs.map(({ job }) => job.jobId);
      };
      const drain = async (store: Store, owner: Owner): Promise<string[]> => {
        const mine: string[] = [];
        for (let more = await take(store, owner); more.length > 0; more = await take(store, owner)) mine.push(...more);
        return mine;
      };
      const owners = [newOwner(), newOwner()] as const;
      // There is enough for a first claim of each, however late one of them comes to it.
      const firsts = await Promise.all([take(world.store, owners[0]), take(other.store, owners[1])]);
      const rest = await Promise.all([drain(world.store, owners[0]), drain(other.store, owners[1])]);
      assert.deepEqual([...firsts, ...rest].flat().toSorted(), ids.toSorted());
      const jobs = await world.store.get(ids, OPTIONS);
      assert.ok(jobs.every((job) => job?.state === "completed" && job.generation === gen(1)));
      const byOwner = owners.map((owner) => jobs.filter((job) => job?.settled?.owner === owner).length);
      assert.ok(byOwner.every((count) => count >= 3), `both got some: ${byOwner}`);
    }),

    test("what a killed process held comes back by its lapse, and never before", async (world) => {
      const other = await required(world.competitor, "competitor")();
      await other.store.enqueue([newJob()], OPTIONS);
      const fence = fenceOf(await claimOne(other, newOwner()));
      await other.kill();
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await world.lapse(fence.jobId, LAPSE_MS);
      const { job, previous } = await claimOne(world, newOwner());
      assertHas(job, { jobId: fence.jobId, generation: 2 });
      assert.equal(previous?.owner, fence.owner);
    }),
  ],
};
