import assert from "node:assert/strict";
import {
  assertHas,
  claim,
  claimedIds,
  complete,
  enqueued,
  fail,
  gen,
  journalOf,
  LAPSE_MS,
  leased,
  newId,
  newOwner,
  OPTIONS,
  release,
  row,
  settled,
} from "./fixtures.ts";
import { type ConformanceTest, test } from "./harness.ts";

const HOUR_MS = 3_600_000;

export const cancelTests: readonly ConformanceTest[] = [
  test("C13 a ready job is cancelled at once", async (world) => {
    const id = await enqueued(world);
    assertHas((await world.store.cancel([id], OPTIONS))[0], {
      outcome: "applied",
      state: "cancelled",
      pending: false,
    });
    assertHas(await row(world, id), { state: "cancelled", endReason: "cancelled" });
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    assert.equal((await journalOf(world, id)).at(-1)?.kind, "cancelled");
  }),

  test("C13 a delayed job is cancelled at once", async (world) => {
    const id = await enqueued(world, { due: { delayMs: HOUR_MS } });
    assertHas((await world.store.cancel([id], OPTIONS))[0], { outcome: "applied", state: "cancelled" });
    await world.lapse(id, 2 * HOUR_MS);
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
  }),

  test("C13 a leased job is asked to stop, and stays its owner's", async (world) => {
    const fence = await leased(world);
    const [answer] = await world.store.cancel([fence.jobId], OPTIONS);
    assert.deepEqual(answer, { outcome: "applied", state: "leased", generation: gen(1), pending: true });
    assertHas(await row(world, fence.jobId), {
      state: "leased",
      owner: fence.owner,
      cancelRequested: true,
    });
    assert.equal(
      (await journalOf(world, fence.jobId)).some(({ kind }) => kind === "cancel_requested"),
      true,
    );
  }),

  test("C13 under a pending cancel a completion and a final failure end the job as themselves", async (world) => {
    for (const [end, state] of [
      [complete, "completed"],
      [(fence: Parameters<typeof fail>[0]) => fail(fence, "final"), "failed"],
    ] as const) {
      const fence = await leased(world);
      await world.store.cancel([fence.jobId], OPTIONS);
      await settled(world, end(fence));
      assertHas(await row(world, fence.jobId), { state, cancelRequested: false });
    }
  }),

  test("C13 under a pending cancel a retry, a release, a lapse and a revoke end the job as cancelled", async (world) => {
    const ends: ((fence: Awaited<ReturnType<typeof leased>>) => Promise<unknown>)[] = [
      (fence) => settled(world, fail(fence, 1_000)),
      (fence) => settled(world, release(fence)),
      async (fence) => {
        await world.lapse(fence.jobId, LAPSE_MS);
        assert.equal((await claim(world, newOwner())).ended.length, 1);
      },
      (fence) => world.store.revoke([fence.jobId], OPTIONS),
    ];
    for (const end of ends) {
      const fence = await leased(world);
      await world.store.cancel([fence.jobId], OPTIONS);
      await end(fence);
      assertHas(await row(world, fence.jobId), {
        state: "cancelled",
        endReason: "cancelled",
        cancelRequested: false,
        owner: null,
        runAtMs: null,
      });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }
  }),

  test("C13 what has ended otherwise cannot be cancelled, and what was cancelled is `already`", async (world) => {
    const fence = await leased(world);
    await settled(world, complete(fence));
    const waiting = await enqueued(world);
    await world.store.cancel([waiting], OPTIONS);
    const [ended, twice, unknown] = await world.store.cancel([fence.jobId, waiting, newId()], OPTIONS);
    assertHas(ended, { outcome: "conflict", state: "completed" });
    assert.deepEqual(twice, { outcome: "already", state: "cancelled" });
    assert.deepEqual(unknown, { outcome: "gone" });
  }),
];
