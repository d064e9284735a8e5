import assert from "node:assert/strict";
import {
  assertHas,
  claim,
  claimOne,
  complete,
  enqueued,
  enqueuedMany,
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

export const claimLapses: readonly ConformanceTest[] = [
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
    assertHas(late, {
      outcome: "stale",
      generation: 2,
      state: "failed",
      endReason: "lease_expired",
      reason: "expired",
    });
  }),

  test("C12 ending expired jobs takes nothing from the limit", async (world) => {
    const fence = await leased(world, { maxAttempts: 1 });
    await world.lapse(fence.jobId, LAPSE_MS);
    const ready = await enqueued(world);
    const { jobs, ended } = await claim(world, newOwner(), { limit: 1 });
    assert.deepEqual(
      [jobs.map(({ job }) => job.jobId), ended.map(({ jobId }) => jobId)],
      [[ready], [fence.jobId]],
    );
  }),

  test("C12 every expired job out of attempts is reached in a bounded number of claims", async (world) => {
    const ids = await enqueuedMany(
      world,
      Array.from({ length: 250 }, () => ({ maxAttempts: 1 })),
    );
    await claim(world, newOwner(), { limit: 250 });
    for (const id of ids) await world.lapse(id, LAPSE_MS);
    let ended = 0;
    for (let n = 0; n < 25 && ended < ids.length; n += 1)
      ended += (await claim(world, newOwner())).ended.length;
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

  test("a lapse in a row is counted, and a settling by an owner begins anew", async (world) => {
    const { b } = await reclaimed(world);
    assert.equal((await row(world, b.jobId)).expiredCount, 1);
    await settled(world, release(b));
    assert.equal((await row(world, b.jobId)).expiredCount, 0);
  }),
];
