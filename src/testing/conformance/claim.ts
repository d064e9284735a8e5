import assert from "node:assert/strict";
import type { Owner } from "../../protocol/identity.ts";
import { claimLapses } from "./claim-lapses.ts";
import { claimOrder } from "./claim-order.ts";
import { claimRaces } from "./claim-races.ts";
import {
  assertAfterNow,
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  enqueuedMany,
  LAPSE_MS,
  LEASE_MS,
  leased,
  newOwner,
  nth,
  OPTIONS,
  QUEUE,
  reclaimed,
  row,
  settled,
} from "./fixtures.ts";
import { type Chapter, type ConformanceTest, test } from "./harness.ts";

const taking: readonly ConformanceTest[] = [
  test("C2 gives the job an owner, a generation, an attempt and a lease", async (world) => {
    const jobId = await enqueued(world);
    const owner = newOwner();
    const claimed = await claimOne(world, owner);
    assertHas(claimed.job, {
      jobId,
      state: "leased",
      owner,
      generation: 1,
      attempt: 1,
      expiredCount: 0,
      raisedBy: "claim",
    });
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
    await enqueuedMany(
      world,
      Array.from({ length: 9 }, () => ({})),
    );
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

  test("the journal tells of claim, lapse and reclaim with both fences", async (world) => {
    const { a, b } = await reclaimed(world);
    const entries = await world.store.journal(`job:${a.jobId}`, OPTIONS);
    const at = (kind: string, owner: Owner, generation: number): number =>
      entries.findIndex(
        (entry) => entry.kind === kind && entry.owner === owner && entry.generation === generation,
      );
    const order = [at("claimed", a.owner, 1), at("lapsed", a.owner, 1), at("claimed", b.owner, 2)];
    assert.ok(
      order.every((index) => index >= 0),
      `all are there: ${order}`,
    );
    assert.ok(
      nth(order, 0) < nth(order, 2) && nth(order, 1) < nth(order, 2),
      `the reclaim is last: ${order}`,
    );
  }),
];

export const claimChapter: Chapter = {
  name: "claim",
  tests: [...taking, ...claimRaces, ...claimLapses, ...claimOrder],
};
