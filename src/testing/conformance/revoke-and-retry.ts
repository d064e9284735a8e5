import assert from "node:assert/strict";
import {
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  fail,
  fenceOf,
  journalOf,
  LAPSE_MS,
  leased,
  newId,
  newOwner,
  OPTIONS,
  reclaimed,
  row,
  settled,
} from "./fixtures.ts";
import { type ConformanceTest, test } from "./harness.ts";

export const revokeAndRetry: readonly ConformanceTest[] = [
  test("C13 a revoke takes the job from its owner, makes it ready and gives the attempt back", async (world) => {
    const fence = await leased(world);
    const [answer] = await world.store.revoke([fence.jobId], OPTIONS);
    assertHas(answer, { outcome: "applied", state: "ready", generation: 2 });
    assertHas(await row(world, fence.jobId), { state: "ready", owner: null, generation: 2, attempt: 0 });
    assertHas((await claimOne(world, newOwner())).job, { generation: 3, attempt: 1 });
    assert.equal(
      (await journalOf(world, fence.jobId)).some(({ kind }) => kind === "revoked"),
      true,
    );
  }),

  test("C13 a revoke's token lies above the old owner's and below the next one's", async (world) => {
    const fence = await leased(world);
    const [answer] = await world.store.revoke([fence.jobId], OPTIONS);
    assertHas(answer?.token, { line: `job:${fence.jobId}`, generation: 2 });
    assert.notEqual(answer?.token?.owner, fence.owner);
    assert.equal((await claimOne(world, newOwner())).token.generation, 3);
  }),

  test("C13 a revoke of an expired lease raises the generation too", async (world) => {
    const fence = await leased(world);
    await world.lapse(fence.jobId, LAPSE_MS);
    await claim(world, newOwner(), { takeover: false });
    assertHas((await world.store.revoke([fence.jobId], OPTIONS))[0], { outcome: "applied", generation: 2 });
    assertHas((await world.store.renew([fence], OPTIONS))[0], { outcome: "stale", reason: "revoked" });
  }),

  test("C13 what nobody holds cannot be revoked", async (world) => {
    const ready = await enqueued(world);
    const [answer, unknown] = await world.store.revoke([ready, newId()], OPTIONS);
    assertHas(answer, { outcome: "conflict", state: "ready" });
    assert.deepEqual(unknown, { outcome: "gone" });
    assert.equal((await row(world, ready)).generation, 0);
  }),

  test("C18 an ended job goes back to ready with its attempts anew", async (world) => {
    for (const state of ["completed", "failed", "cancelled"] as const) {
      const { b } = await reclaimed(world);
      if (state === "cancelled") await world.store.cancel([b.jobId], OPTIONS);
      await settled(
        world,
        state === "completed" ? complete(b, "1") : fail(b, state === "failed" ? "final" : 0),
      );
      assert.equal((await row(world, b.jobId)).state, state);
      assertHas((await world.store.retry([b.jobId], false, OPTIONS))[0], {
        outcome: "applied",
        state: "ready",
        generation: 3,
      });
      assertHas(await row(world, b.jobId), {
        state: "ready",
        generation: 3,
        attempt: 0,
        expiredCount: 0,
        run: 1,
        cancelRequested: false,
        endReason: null,
        finishedAtMs: null,
        result: null,
        error: null,
      });
      const next = await claimOne(world, newOwner());
      assertHas(next.job, { jobId: b.jobId, generation: 4, attempt: 1 });
      await settled(world, complete(fenceOf(next)));
    }
  }),

  test("C18 `again` begins a new run number", async (world) => {
    const fence = await leased(world);
    await settled(world, complete(fence));
    await world.store.retry([fence.jobId], true, OPTIONS);
    assert.equal((await row(world, fence.jobId)).run, 2);
  }),

  test("C18 what has not ended cannot be retried", async (world) => {
    const fence = await leased(world, { queue: "parcels" });
    const ready = await enqueued(world);
    const answers = await world.store.retry([fence.jobId, ready, newId()], false, OPTIONS);
    assert.deepEqual(
      answers.map(({ outcome }) => outcome),
      ["conflict", "conflict", "gone"],
    );
    await settled(world, complete(fence));
  }),

  test("C18 a retried job keeps its place by `seq`", async (world) => {
    const fence = await leased(world);
    await settled(world, fail(fence, "final"));
    const later = await enqueued(world);
    await world.store.retry([fence.jobId], false, OPTIONS);
    assert.deepEqual(claimedIds(await claim(world, newOwner())), [fence.jobId, later]);
  }),
];
