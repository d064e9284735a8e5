import assert from "node:assert/strict";
import {
  assertHas,
  claim,
  claimOne,
  complete,
  fail,
  LAPSE_MS,
  leased,
  newOwner,
  OPTIONS,
  release,
  row,
  settled,
} from "./fixtures.ts";
import { type ConformanceTest, test } from "./harness.ts";
import { assertRefused, WRITES } from "./stale-writes.ts";

export const staleAfterOperators: readonly ConformanceTest[] = [
  test("a revoke raises the generation, and the old owner is stale", async (world) => {
    const fence = await leased(world);
    await world.store.revoke([fence.jobId], OPTIONS);
    await assertRefused(world, fence, 2, "revoked");
  }),

  test("an operator's retry raises the generation, and no fence from before can write", async (world) => {
    const fence = await leased(world);
    await settled(world, fail(fence, "final"));
    await world.store.retry([fence.jobId], false, OPTIONS);
    const before = await row(world, fence.jobId);
    assert.equal(before.generation, 2);
    for (const [name, write] of Object.entries(WRITES)) {
      // The one thing that this fence did is answered as what it is: done before (C9).
      const expected = name.startsWith("fail") ? "already" : "stale";
      assert.equal((await write(world.store, fence))[0]?.outcome, expected, name);
    }
    assert.deepEqual(await row(world, fence.jobId), before);
  }),

  test("cancel and then retry raises the generation over that of the leased run", async (world) => {
    const fence = await leased(world);
    await world.store.cancel([fence.jobId], OPTIONS);
    await world.store.revoke([fence.jobId], OPTIONS);
    assert.equal((await row(world, fence.jobId)).state, "cancelled");
    await world.store.retry([fence.jobId], false, OPTIONS);
    await assertRefused(world, fence, 3, "retried");
    assertHas((await claimOne(world, newOwner())).job, { generation: 4 });
  }),

  test("a job that ended and was cancelled while ready, then retried, raises the generation", async (world) => {
    const fence = await leased(world);
    await settled(world, release(fence));
    await world.store.cancel([fence.jobId], OPTIONS);
    await world.store.retry([fence.jobId], false, OPTIONS);
    const next = await claimOne(world, newOwner());
    assert.equal(next.job.generation, 3);
    assertHas((await world.store.settle([complete(fence)], OPTIONS))[0], {
      outcome: "stale",
      generation: 3,
    });
  }),

  test("a lease that lapsed with a pending cancel is over for its owner", async (world) => {
    const fence = await leased(world);
    await world.store.cancel([fence.jobId], OPTIONS);
    await world.lapse(fence.jobId, LAPSE_MS);
    await claim(world, newOwner());
    await assertRefused(world, fence, 2, "cancelled");
  }),

  test("a deleted job's owner finds it gone", async (world) => {
    const fence = await leased(world);
    await settled(world, release(fence));
    await world.store.delete([fence.jobId], OPTIONS);
    for (const [name, write] of Object.entries(WRITES)) {
      assert.equal((await write(world.store, fence))[0]?.outcome, "gone", name);
    }
  }),

  test("a lease granted before the floor was raised is stale from then on", async (world) => {
    const fence = await leased(world);
    await world.store.raiseFloor(OPTIONS);
    await assertRefused(world, fence, 1, "history");
  }),
];
