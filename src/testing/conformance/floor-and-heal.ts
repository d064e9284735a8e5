import assert from "node:assert/strict";
import {
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  fenceOf,
  gen,
  LAPSE_MS,
  leased,
  newOwner,
  OPTIONS,
  reclaimed,
  row,
  settled,
} from "./fixtures.ts";
import { type ConformanceTest, test } from "./harness.ts";
import { held, NAME } from "./named-lease-fixtures.ts";

const EPOCH_SIZE = 2 ** 32;

export const floorAndHeal: readonly ConformanceTest[] = [
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
    assertHas(await row(world, fence.jobId), {
      state: "ready",
      owner: null,
      generation: 40,
      attempt: 0,
      heals: 1,
    });
    assertHas((await world.store.settle([complete(fence)], OPTIONS))[0], {
      outcome: "stale",
      generation: 40,
      reason: "healed",
    });
    assertHas((await claimOne(world, newOwner())).job, { generation: 41, attempt: 1 });
  }),

  test("C19 a mark below the generation lowers nothing", async (world) => {
    const { b } = await reclaimed(world);
    await world.store.heal(b, gen(1), OPTIONS);
    assert.equal((await row(world, b.jobId)).generation, 2);
    assert.equal((await claimOne(world, newOwner())).job.generation, 3);
  }),

  test("C19 a mark of a later epoch than the store's is left to a person", async (world) => {
    const fence = await leased(world);
    const answer = await world.store.heal(fence, gen(EPOCH_SIZE), OPTIONS);
    assertHas(answer, { outcome: "too_high", generation: 1 });
    await settled(world, complete(fence));
  }),

  test("C19 the third heal of a job fails it", async (world) => {
    const jobId = await enqueued(world);
    for (const mark of [10, 20, 30]) {
      const fence = fenceOf(await claimOne(world, newOwner()));
      assertHas(await world.store.heal(fence, gen(mark), OPTIONS), {
        outcome: "applied",
        state: mark === 30 ? "failed" : "ready",
      });
    }
    assertHas(await row(world, jobId), { state: "failed", endReason: "mark", generation: 30 });
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
  }),

  test("C19 a heal of a named lease frees it and lifts it to the mark; its old fence is stale from then on", async (world) => {
    const fence = await held(world);
    assert.deepEqual(await world.store.healLease(fence, gen(40), OPTIONS), {
      outcome: "applied",
      generation: 40,
    });
    assertHas(await world.store.getLease(NAME, OPTIONS), { owner: null, generation: 40, heals: 1 });
    const refused = { outcome: "stale", generation: 40, owner: null };
    assertHas(await world.store.healLease(fence, gen(41), OPTIONS), refused);
    assertHas((await world.store.renewLeases([fence], OPTIONS))[0], refused);
    assertHas((await world.store.release([fence], OPTIONS))[0], refused);
    const story = (await world.store.journal(`lease:${NAME}`, OPTIONS)).map(({ kind, generation }) => [
      kind,
      generation,
    ]);
    assert.deepEqual(story.slice(0, 2), [
      ["claimed", 1],
      ["healed", 40],
    ]);
    assert.equal((await held(world)).generation, 41);
  }),

  test("C19 a heal of a named lease to its own generation, which another owner had, is over for its fence", async (world) => {
    const fence = await held(world);
    assertHas(await world.store.healLease(fence, gen(1), OPTIONS), { outcome: "applied", generation: 1 });
    assertHas((await world.store.release([fence], OPTIONS))[0], { outcome: "stale", generation: 1 });
    assert.equal((await held(world)).generation, 2);
  }),

  test("C19 a named lease's mark of a later epoch than the store's is left to a person", async (world) => {
    const fence = await held(world);
    const answer = await world.store.healLease(fence, gen(EPOCH_SIZE), OPTIONS);
    assert.deepEqual(answer, { outcome: "too_high", generation: 1 });
    assertHas((await world.store.renewLeases([fence], OPTIONS))[0], { outcome: "applied" });
  }),

  test("C19 a named lease that is held for a job, by somebody else or by nobody is not healed by name", async (world) => {
    const run = await leased(world, { resource: NAME });
    const byName = { name: NAME, owner: run.owner, generation: gen(1) };
    assertHas(await world.store.healLease(byName, gen(9), OPTIONS), { outcome: "stale", generation: 1 });
    await settled(world, complete(run));
    assertHas(await world.store.healLease(byName, gen(9), OPTIONS), { outcome: "stale", generation: 1 });
    const unknown = { ...byName, name: "unknown" };
    assert.deepEqual(await world.store.healLease(unknown, gen(9), OPTIONS), { outcome: "gone" });
  }),

  test("C19 a healed named lease goes to the first job that waits for it", async (world) => {
    const fence = await held(world);
    const id = await enqueued(world, { resource: NAME });
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    await world.store.healLease(fence, gen(6), OPTIONS);
    const { job, token } = await claimOne(world, newOwner());
    assert.deepEqual([job.jobId, token.generation], [id, 7]);
  }),
];
