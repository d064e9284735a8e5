import assert from "node:assert/strict";
import type { QueueLimit, Slot } from "../../protocol/limit.ts";
import type { ClaimedJob } from "../../stores/store.ts";
import {
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  enqueuedMany,
  fenceOf,
  LAPSE_MS,
  newOwner,
  nth,
  OPTIONS,
  QUEUE,
  row,
  settled,
  twoHandles,
} from "./fixtures.ts";
import { type Chapter, type TestWorld, test } from "./harness.ts";

const HOUR_MS = 3_600_000;

function limited({ store }: Pick<TestWorld, "store">, limit: Partial<QueueLimit> | null, queue = QUEUE) {
  return store.limitQueue(
    queue,
    limit === null ? null : { concurrency: null, rate: null, ...limit },
    OPTIONS,
  );
}

function slotOf({ slot }: ClaimedJob): Slot {
  assert.ok(slot !== undefined, "the job came with a slot");
  return slot;
}

async function givenUp(world: TestWorld, claimed: ClaimedJob): Promise<void> {
  await settled(world, complete(fenceOf(claimed)));
  assertHas((await world.store.release([slotOf(claimed)], OPTIONS))[0], { outcome: "applied" });
}

export const queueLimits: Chapter = {
  name: "limits of queues",
  tests: [
    test("no more jobs of a queue are claimed at once than its concurrency, whoever claims", async (world) => {
      await limited(world, { concurrency: 2 });
      const ids = await enqueuedMany(world, [{}, {}, {}]);
      const [one, other] = await twoHandles(world);
      assert.deepEqual(claimedIds(await claim({ store: one }, newOwner(), { limit: 1 })), [ids[0]]);
      assert.deepEqual(claimedIds(await claim({ store: other }, newOwner())), [ids[1]]);
      assert.deepEqual(claimedIds(await claim({ store: one }, newOwner())), []);
    }),

    test("a slot is free for the next job when it is released, not when its job ends", async (world) => {
      await limited(world, { concurrency: 1 });
      const ids = await enqueuedMany(world, [{}, {}]);
      const first = await claimOne(world, newOwner());
      await settled(world, complete(fenceOf(first)));
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await world.store.release([slotOf(first)], OPTIONS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [ids[1]]);
    }),

    test("a slot whose owner is gone comes back when it lapses, and its owner is stale then", async (world) => {
      await limited(world, { concurrency: 1 });
      const [, second] = await enqueuedMany(world, [{}, {}]);
      const slot = slotOf(await claimOne(world, newOwner()));
      await world.lapse(slot.name, LAPSE_MS);
      const next = await claimOne(world, newOwner());
      assert.equal(next.job.jobId, second);
      assert.ok(slotOf(next).generation > slot.generation);
      assertHas((await world.store.renewLeases([slot], OPTIONS))[0], { outcome: "stale" });
      assertHas((await world.store.release([slot], OPTIONS))[0], { outcome: "stale" });
    }),

    test("a slot that lapsed may be renewed while nobody has taken it, and is held then", async (world) => {
      await limited(world, { concurrency: 1 });
      await enqueuedMany(world, [{}, {}]);
      const slot = slotOf(await claimOne(world, newOwner()));
      await world.lapse(slot.name, LAPSE_MS);
      assertHas((await world.store.renewLeases([slot], OPTIONS))[0], { outcome: "applied" });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("T5 a slot that starts in the future is held for one lease from now", async (world) => {
      await limited(world, { concurrency: 1 });
      await enqueuedMany(world, [{}, {}]);
      const slot = slotOf(await claimOne(world, newOwner()));
      await world.setBack(slot.name, HOUR_MS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await world.lapse(slot.name, LAPSE_MS);
      assert.equal((await claim(world, newOwner())).jobs.length, 1);
    }),

    test("what a limit holds back was never claimed: its attempt and its generation stay", async (world) => {
      await limited(world, { concurrency: 1 });
      const ids = await enqueuedMany(world, [{}, {}]);
      await claimOne(world, newOwner(), { limit: 1 });
      for (let n = 0; n < 3; n++) await claim(world, newOwner());
      assertHas(await row(world, nth(ids, 1)), { state: "ready", attempt: 0, generation: 0 });
    }),

    test("C15 a queue with a limit is worked in its order", async (world) => {
      await limited(world, { concurrency: 1 });
      const ids = await enqueuedMany(world, [{ priority: 5 }, {}, {}, { priority: -1 }]);
      const found: unknown[] = [];
      for (let n = 0; n < ids.length; n++) {
        const claimed = await claimOne(world, newOwner());
        found.push(claimed.job.jobId);
        await givenUp(world, claimed);
      }
      assert.deepEqual(found, [ids[3], ids[1], ids[2], ids[0]]);
    }),

    test("queues without a limit are not held back by one with a limit, nor by its place in the request", async (world) => {
      await limited(world, { concurrency: 1 }, "slow");
      await enqueuedMany(world, [{ queue: "slow" }, { queue: "slow" }, {}, {}]);
      const first = await claim(world, newOwner(), { queues: ["slow", QUEUE] });
      assert.deepEqual(first.jobs.map(({ job }) => job.queue).sort(), [QUEUE, QUEUE, "slow"]);
      await enqueued(world);
      const second = await claim(world, newOwner(), { queues: ["slow", QUEUE] });
      assert.deepEqual(
        second.jobs.map(({ job }) => job.queue),
        [QUEUE],
      );
    }),

    test("of a queue with a limit no more is claimed than there are places, whatever is claimed ahead", async (world) => {
      await limited(world, { concurrency: 10 });
      await enqueuedMany(world, [{}, {}, {}]);
      assert.equal((await claim(world, newOwner(), { limit: 3, places: 2 })).jobs.length, 2);
      assert.equal((await claim(world, newOwner(), { limit: 3, places: 0 })).jobs.length, 0);
    }),

    test("a lapsed job of a queue with a limit is taken over within the limit", async (world) => {
      await limited(world, { concurrency: 1 });
      const id = await enqueued(world);
      const first = await claimOne(world, newOwner());
      await world.lapse(id, LAPSE_MS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await world.lapse(slotOf(first).name, LAPSE_MS);
      const second = await claimOne(world, newOwner());
      assertHas(second.previous, { owner: first.job.owner, generation: first.job.generation });
    }),

    test("two jobs of one resource do not run at once because their queue has two slots", async (world) => {
      await limited(world, { concurrency: 2 });
      const ids = await enqueuedMany(world, [{ resource: "account:1" }, { resource: "account:1" }, {}]);
      const claimed = await claim(world, newOwner());
      assert.deepEqual(claimedIds(claimed), [ids[0], ids[2]]);
      assert.equal(new Set(claimed.jobs.map((job) => slotOf(job).name)).size, 2);
    }),

    test("a lower limit leaves what runs alone, and lets nothing begin until enough of it has ended", async (world) => {
      await limited(world, { concurrency: 3 });
      await enqueuedMany(world, [{}, {}, {}, {}, {}]);
      const { jobs } = await claim(world, newOwner(), { limit: 3 });
      await limited(world, { concurrency: 1 });
      for (const claimed of jobs.slice(0, 2)) {
        await givenUp(world, claimed);
        assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      }
      await givenUp(world, nth(jobs, 2));
      assert.equal((await claim(world, newOwner())).jobs.length, 1);
    }),

    test("without its limit a queue is claimed as before, and its jobs come without a slot", async (world) => {
      await limited(world, { concurrency: 1 });
      await enqueuedMany(world, [{}, {}, {}]);
      await claimOne(world, newOwner());
      await limited(world, null);
      const { jobs } = await claim(world, newOwner());
      assert.deepEqual(
        jobs.map(({ slot }) => slot),
        [undefined, undefined],
      );
    }),

    test("no more jobs begin within a rate's length of time than its count, and the claim says when the next may", async (world) => {
      await limited(world, { rate: { count: 2, perMs: HOUR_MS } });
      await enqueuedMany(world, [{}, {}, {}]);
      const first = await claim(world, newOwner(), { limit: 1 });
      assert.equal(nth(first.jobs, 0).slot, undefined);
      assert.equal((await claim(world, newOwner())).jobs.length, 1);
      const none = await claim(world, newOwner());
      assert.deepEqual(claimedIds(none), []);
      assert.ok(none.nextDueInMs !== undefined && none.nextDueInMs > HOUR_MS - 60_000);
      assert.ok(none.nextDueInMs <= HOUR_MS * 1.01);
    }),

    test("a rate counts what begins, not what ends or fails", async (world) => {
      await limited(world, { rate: { count: 2, perMs: HOUR_MS } });
      await enqueuedMany(world, [{}, {}, {}]);
      const { jobs } = await claim(world, newOwner());
      assert.equal(jobs.length, 2);
      for (const claimed of jobs) await settled(world, complete(fenceOf(claimed)));
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("another limit gives nobody a fresh start: what began lately still counts", async (world) => {
      await limited(world, { rate: { count: 2, perMs: HOUR_MS } });
      await enqueuedMany(world, [{}, {}, {}, {}]);
      assert.equal((await claim(world, newOwner())).jobs.length, 2);
      await limited(world, { rate: { count: 3, perMs: HOUR_MS } });
      assert.equal((await claim(world, newOwner())).jobs.length, 1);
      assert.equal((await claim(world, newOwner())).jobs.length, 0);
    }),

    test("concurrency and rate hold together", async (world) => {
      await limited(world, { concurrency: 1, rate: { count: 2, perMs: HOUR_MS } });
      await enqueuedMany(world, [{}, {}, {}, {}]);
      await givenUp(world, await claimOne(world, newOwner()));
      await givenUp(world, await claimOne(world, newOwner()));
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("a paused queue with a limit is not claimed, and goes on within it when it is resumed", async (world) => {
      await limited(world, { concurrency: 1 });
      await enqueuedMany(world, [{}, {}]);
      await world.store.pause(QUEUE, true, OPTIONS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await world.store.pause(QUEUE, false, OPTIONS);
      assert.equal((await claim(world, newOwner())).jobs.length, 1);
    }),

    test("counts tell each queue's limit, also of one without jobs", async (world) => {
      const limit = { concurrency: 4, rate: { count: 100, perMs: 60_000 } };
      await limited(world, limit, "a");
      await limited(world, { rate: { count: 1, perMs: 500 } }, "b");
      await enqueued(world, { queue: "c" });
      await limited(world, { concurrency: 2 }, "d");
      await limited(world, null, "d");
      const counts = await world.store.counts(OPTIONS);
      const limits = new Map(counts.map(({ queue, limit }) => [queue, limit]));
      assert.deepEqual(limits.get("a"), limit);
      assert.deepEqual(limits.get("b"), { concurrency: null, rate: { count: 1, perMs: 500 } });
      assert.equal(limits.get("c"), null);
      assert.equal(limits.get("d") ?? null, null);
    }),

    test("queues whose names resemble each other do not share their slots", async (world) => {
      const names = ["a", "a/", "a/1", "a0", "%61", "ä"];
      for (const queue of names) await limited(world, { concurrency: 1 }, queue);
      for (const queue of names) await enqueuedMany(world, [{ queue }, { queue }]);
      for (const queue of names) {
        const { jobs } = await claim(world, newOwner(), { queues: [queue] });
        assert.equal(jobs.length, 1, queue);
      }
    }),

    test("ten claims at once never give out more than the limit", async (world) => {
      await limited(world, { concurrency: 3, rate: { count: 5, perMs: HOUR_MS } });
      await enqueuedMany(
        world,
        Array.from({ length: 20 }, () => ({})),
      );
      const [one, other] = await twoHandles(world);
      const claims = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          claim({ store: n % 2 === 0 ? one : other }, newOwner(), { limit: 2 }),
        ),
      );
      const jobs = claims.flatMap(({ jobs }) => jobs);
      assert.equal(jobs.length, 3);
      assert.equal(new Set(jobs.map((job) => slotOf(job).name)).size, 3);
    }),
  ],
};
