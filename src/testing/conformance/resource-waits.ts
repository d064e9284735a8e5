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
  LAPSE_MS,
  leased,
  newId,
  newOwner,
  OPTIONS,
  QUEUE,
  release,
  settled,
} from "./fixtures.ts";
import { type ConformanceTest, type TestWorld, test } from "./harness.ts";
import { ACCOUNT, acquire, held } from "./named-lease-fixtures.ts";

export const resourceWaits: readonly ConformanceTest[] = [
  test("an acquisition by name keeps back jobs with that resource, and its release lets them go", async (world) => {
    const fence = await held(world, ACCOUNT);
    const id = await enqueued(world, { resource: ACCOUNT });
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    await world.store.release([fence], OPTIONS);
    const claimed = await claimOne(world, newOwner());
    assert.deepEqual([claimed.job.jobId, claimed.token.generation], [id, 2]);
  }),

  test("an acquisition by name that lapsed no longer keeps a job back", async (world) => {
    const fence = await held(world, ACCOUNT);
    await enqueued(world, { resource: ACCOUNT });
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    await world.lapse(ACCOUNT, LAPSE_MS);
    assert.equal((await claimOne(world, newOwner())).token.generation, 2);
    assertHas((await world.store.renewLeases([fence], OPTIONS))[0], { outcome: "stale", generation: 2 });
  }),

  test("W7 with `takeover: false` an expired resource is left to its owner, a released one is taken", async (world) => {
    const fence = await held(world, ACCOUNT);
    await enqueued(world, { resource: ACCOUNT });
    await world.lapse(ACCOUNT, LAPSE_MS);
    assert.deepEqual(claimedIds(await claim(world, newOwner(), { takeover: false })), []);
    assertHas((await world.store.renewLeases([fence], OPTIONS))[0], { outcome: "applied" });
    await world.store.release([fence], OPTIONS);
    assert.equal((await claim(world, newOwner(), { takeover: false })).jobs.length, 1);
  }),

  test("a run that holds a resource keeps back an acquisition by that name", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    assertHas(await acquire(world, newOwner(), ACCOUNT), { outcome: "held", generation: 1 });
    await settled(world, complete(fence));
    assert.equal((await held(world, ACCOUNT)).generation, 2);
  }),

  test("a lease that a run holds is neither renewed nor released nor deleted by name", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    const byName = { name: ACCOUNT, owner: fence.owner, generation: gen(1) };
    assertHas((await world.store.renewLeases([byName], OPTIONS))[0], { outcome: "stale" });
    assertHas((await world.store.release([byName], OPTIONS))[0], { outcome: "stale" });
    assert.deepEqual(await world.store.deleteLease(ACCOUNT, OPTIONS), { outcome: "conflict" });
    await settled(world, complete(fence));
  }),

  test("a resource keeps back no job but those that share it", async (world) => {
    await leased(world, { resource: ACCOUNT });
    await enqueuedMany(
      world,
      Array.from({ length: 15 }, () => ({ resource: ACCOUNT })),
    );
    const others = await enqueuedMany(world, [{}, { resource: "account:43" }, { resource: "account:44" }]);
    assert.deepEqual(claimedIds(await claim(world, newOwner(), { limit: 5 })), others);
  }),

  test("a job behind hundreds that wait for one resource is found in a bounded number of claims", async (world) => {
    await leased(world, { resource: ACCOUNT });
    await enqueuedMany(
      world,
      Array.from({ length: 400 }, () => ({ resource: ACCOUNT })),
    );
    const other = await enqueued(world);
    const found: JobId[] = [];
    for (let n = 0; n < 10 && found.length === 0; n += 1)
      found.push(...claimedIds(await claim(world, newOwner())));
    assert.deepEqual(found, [other]);
  }),

  test("jobs that wait for a resource take nothing from the limit", async (world) => {
    await enqueuedMany(
      world,
      Array.from({ length: 5 }, () => ({ resource: ACCOUNT })),
    );
    const others = await enqueuedMany(world, [{}, {}, {}]);
    const claimed = claimedIds(await claim(world, newOwner(), { limit: 4 }));
    assert.deepEqual(claimed.slice(1), others);
  }),

  test("the end of a run lets the next of its resource go, also when that one is delayed or cancelled", async (world) => {
    const first = await leased(world, { resource: ACCOUNT });
    const [cancelled, last] = await enqueuedMany(world, [{ resource: ACCOUNT }, { resource: ACCOUNT }]);
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    await world.store.cancel([cancelled as JobId], OPTIONS);
    await settled(world, complete(first));
    assert.deepEqual(claimedIds(await claim(world, newOwner())), [last]);
  }),

  test("a job's own id is not a lease's name", async (world) => {
    const fence = await leased(world);
    assert.equal(await world.store.getLease(fence.jobId, OPTIONS), undefined);
    assert.equal((await acquire(world, newOwner(), fence.jobId)).outcome, "applied");
    assertHas((await world.store.renew([fence, { ...fence, jobId: newId() }], OPTIONS))[0], {
      outcome: "applied",
    });
  }),

  test("jobs of one resource that were enqueued one by one while it was free do not stand in front of others", async (world) => {
    const first = await enqueued(world, { resource: ACCOUNT });
    for (let n = 0; n < 250; n += 1) await enqueued(world, { resource: ACCOUNT });
    const others = await enqueuedMany(world, [{}, { resource: "account:43" }, { resource: "account:44" }]);
    assert.deepEqual(claimedIds(await claim(world, newOwner(), { limit: 4 })), [first, ...others]);
  }),

  test("C15 a more urgent job of a resource overtakes the one that stands in the line for it, and those that wait", async (world) => {
    const usual = await enqueued(world, { resource: ACCOUNT });
    const waits = await enqueued(world, { resource: ACCOUNT });
    const urgent = await enqueued(world, { resource: ACCOUNT, priority: -5 });
    const less = await enqueued(world, { resource: ACCOUNT, priority: -3 });
    assert.deepEqual(await oneByOne(world), [urgent, less, usual, waits]);
  }),

  test("C15 a retried and a released job take their place by seq among those that wait for the resource", async (world) => {
    const [a, b, c] = await enqueuedMany(
      world,
      Array.from({ length: 3 }, () => ({ resource: ACCOUNT })),
    );
    const first = fenceOf(await claimOne(world, newOwner()));
    await settled(world, fail(first));
    const again = fenceOf(await claimOne(world, newOwner()));
    assert.equal(again.jobId, a);
    await settled(world, release(again));
    assert.deepEqual(await oneByOne(world), [a, b, c]);
  }),

  test("C15 delayed jobs of a resource wait for it when they are due, in the order of their arrival", async (world) => {
    const due = { delayMs: 60_000 };
    const delayed = await enqueuedMany(
      world,
      Array.from({ length: 20 }, () => ({ resource: ACCOUNT, due })),
    );
    const other = await enqueued(world, { due });
    for (const id of [other, ...delayed.toReversed()]) await world.lapse(id, 70_000);
    assert.deepEqual(claimedIds(await claim(world, newOwner(), { limit: 2 })), [delayed[0], other]);
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
  }),

  test("a job does not wait behind one of its resource in a queue that is paused or that nobody asks for", async (world) => {
    const first = await leased(world, { resource: ACCOUNT });
    for (const queue of ["paused", "nobody"]) {
      await enqueuedMany(world, [
        { resource: ACCOUNT, queue },
        { resource: ACCOUNT, queue },
      ]);
    }
    await world.store.pause("paused", true, OPTIONS);
    const id = await enqueued(world, { resource: ACCOUNT });
    await settled(world, complete(first));
    const found: JobId[] = [];
    for (let n = 0; n < 10 && found.length === 0; n += 1)
      found.push(...claimedIds(await claim(world, newOwner(), { queues: [QUEUE, "paused"] })));
    assert.deepEqual(found, [id]);
  }),

  test("a job behind one of its resource that was cancelled, deleted or ended otherwise is not left to wait", async (world) => {
    for (const end of ["cancel", "delete"] as const) {
      const first = await enqueued(world, { resource: ACCOUNT });
      const second = await enqueued(world, { resource: ACCOUNT });
      await world.store[end]([first], OPTIONS);
      const claimed = await claimOne(world, newOwner());
      assert.equal(claimed.job.jobId, second);
      await settled(world, complete(fenceOf(claimed)));
    }
  }),
];

/** Claims and completes what there is, one at a time. */
async function oneByOne(world: TestWorld): Promise<JobId[]> {
  const ids: JobId[] = [];
  for (;;) {
    const { jobs } = await claim(world, newOwner());
    const [claimed] = jobs;
    if (claimed === undefined) return ids;
    ids.push(...jobs.map(({ job }) => job.jobId));
    await settled(world, complete(fenceOf(claimed)));
  }
}
