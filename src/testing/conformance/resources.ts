import assert from "node:assert/strict";
import { StaleLeaseError } from "../../errors.ts";
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
  newOwner,
  OPTIONS,
  reclaimed,
  release,
  row,
  settled,
} from "./fixtures.ts";
import { type ConformanceTest, test } from "./harness.ts";
import { ACCOUNT, lapseBoth } from "./named-lease-fixtures.ts";

export const resourceRuns: readonly ConformanceTest[] = [
  test("a run with a resource carries its token on the resource's line", async (world) => {
    await enqueued(world, { resource: ACCOUNT });
    const owner = newOwner();
    const { job, token } = await claimOne(world, owner);
    assert.deepEqual(token, { line: `lease:${ACCOUNT}`, generation: gen(1), owner });
    assertHas(job, { resource: ACCOUNT, resourceGeneration: 1 });
    assertHas(await world.store.getLease(ACCOUNT, OPTIONS), { owner, generation: 1, heldFor: job.jobId });
  }),

  test("of two jobs with one resource a claim takes only the first", async (world) => {
    const [second, first] = await enqueuedMany(world, [
      { resource: ACCOUNT },
      { resource: ACCOUNT, priority: -1 },
    ]);
    assert.deepEqual(claimedIds(await claim(world, newOwner())), [first]);
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    assertHas(await row(world, second as JobId), { state: "ready", attempt: 0, generation: 0 });
  }),

  test("jobs with one resource run one after the other, in their order, on rising generations", async (world) => {
    const ids = await enqueuedMany(
      world,
      Array.from({ length: 4 }, () => ({ resource: ACCOUNT })),
    );
    const runs: unknown[] = [];
    for (let n = 0; n < 4; n += 1) {
      const claimed = await claimOne(world, newOwner());
      runs.push([claimed.job.jobId, claimed.token.generation, claimed.job.generation]);
      await settled(world, complete(fenceOf(claimed)));
    }
    assert.deepEqual(
      runs,
      ids.map((id, n) => [id, n + 1, 1]),
    );
  }),

  test("jobs with one resource in two queues run one after the other", async (world) => {
    await enqueued(world, { resource: ACCOUNT, queue: "a" });
    await enqueued(world, { resource: ACCOUNT, queue: "b" });
    const first = await claimOne(world, newOwner(), { queues: ["a", "b"] });
    assert.deepEqual(claimedIds(await claim(world, newOwner(), { queues: ["b", "a"] })), []);
    await settled(world, complete(fenceOf(first)));
    assert.notEqual((await claimOne(world, newOwner(), { queues: ["a", "b"] })).job.queue, first.job.queue);
  }),

  test("every way of settling gives the resource up in the same statement", async (world) => {
    const ends = [complete, release, fail, (fence: Parameters<typeof fail>[0]) => fail(fence, "final")];
    for (const end of ends) {
      await enqueued(world, { resource: ACCOUNT, maxAttempts: 3 });
      const fence = fenceOf(await claimOne(world, newOwner()));
      await settled(world, end(fence));
      assertHas(await world.store.getLease(ACCOUNT, OPTIONS), { owner: null, heldFor: null });
      await world.store.cancel([fence.jobId], OPTIONS);
    }
  }),

  test("completeWith gives the resource up", async (world) => {
    await enqueuedMany(world, [{ resource: ACCOUNT }, { resource: ACCOUNT }]);
    const first = fenceOf(await claimOne(world, newOwner()));
    await world.store.completeWith(first, async () => null, OPTIONS);
    assert.equal((await claimOne(world, newOwner())).token.generation, 2);
  }),

  test("a renewal of the job renews its resource with it", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    await lapseBoth(world, fence.jobId);
    assertHas((await world.store.renew([fence], OPTIONS))[0], { outcome: "applied" });
    const [lease, job] = [await world.store.getLease(ACCOUNT, OPTIONS), await row(world, fence.jobId)];
    assert.equal(lease?.leaseUntilMs, job.leaseUntilMs);
    await enqueued(world, { resource: ACCOUNT });
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
  }),

  test("a reclaim raises job and resource, and the old run is stale", async (world) => {
    const { a, b } = await reclaimed(world, { resource: ACCOUNT });
    assertHas(await row(world, a.jobId), { generation: 2, resourceGeneration: 2 });
    assertHas((await world.store.settle([complete(a)], OPTIONS))[0], {
      outcome: "stale",
      reason: "reclaimed",
    });
    assertHas(await world.store.getLease(ACCOUNT, OPTIONS), { owner: b.owner, generation: 2 });
    await settled(world, complete(b));
  }),

  test("a run whose resource was taken by another run is stale, though its job is its own", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    await enqueued(world, { resource: ACCOUNT });
    await world.lapse(ACCOUNT, LAPSE_MS);
    const taker = fenceOf(await claimOne(world, newOwner()));
    const before = [await row(world, fence.jobId), await world.store.getLease(ACCOUNT, OPTIONS)];
    const refusals = [
      ...(await world.store.renew([fence], OPTIONS)),
      ...(await world.store.settle([complete(fence)], OPTIONS)),
      ...(await world.store.settle([fail(fence)], OPTIONS)),
      ...(await world.store.settle([release(fence)], OPTIONS)),
      ...(await world.store.write([{ fence, progress: "1" }], OPTIONS)),
      await world.store.heal(fence, gen(9), OPTIONS),
      await world.store.outcome(fence, OPTIONS),
    ];
    for (const refusal of refusals)
      assertHas(refusal, { outcome: "stale", generation: 1, reason: "resource" });
    await assert.rejects(
      world.store.completeWith(fence, async () => null, OPTIONS),
      StaleLeaseError,
    );
    assert.deepEqual([await row(world, fence.jobId), await world.store.getLease(ACCOUNT, OPTIONS)], before);
    await settled(world, complete(taker));
  }),

  test("a revoke frees the resource and raises it, and its token is on the resource's line", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    const [answer] = await world.store.revoke([fence.jobId], OPTIONS);
    assertHas(answer?.token, { line: `lease:${ACCOUNT}`, generation: 2 });
    assertHas(await world.store.getLease(ACCOUNT, OPTIONS), { owner: null, generation: 2 });
    assert.equal((await claimOne(world, newOwner())).token.generation, 3);
  }),

  test("C12 the end of an expired job leaves its resource to the next", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT, maxAttempts: 1 });
    const next = await enqueued(world, { resource: ACCOUNT });
    await lapseBoth(world, fence.jobId);
    const ids: JobId[] = [];
    for (let n = 0; n < 2; n += 1) ids.push(...claimedIds(await claim(world, newOwner())));
    assert.deepEqual(ids, [next]);
    assert.equal((await row(world, fence.jobId)).state, "failed");
  }),

  test("C19 a heal of a run with a resource lifts the resource's generation", async (world) => {
    const fence = await leased(world, { resource: ACCOUNT });
    assertHas(await world.store.heal(fence, gen(50), OPTIONS), { outcome: "applied", state: "ready" });
    assertHas(await world.store.getLease(ACCOUNT, OPTIONS), { owner: null, generation: 50 });
    assert.equal((await claimOne(world, newOwner())).token.generation, 51);
  }),
];
