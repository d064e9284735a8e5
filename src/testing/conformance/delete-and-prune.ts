import assert from "node:assert/strict";
import type { JobId } from "../../protocol/identity.ts";
import {
  assertHas,
  claim,
  claimedIds,
  complete,
  enqueuedMany,
  fail,
  LAPSE_MS,
  leased,
  newId,
  newOwner,
  OPTIONS,
  settled,
} from "./fixtures.ts";
import { type ConformanceTest, test } from "./harness.ts";

const HOUR_MS = 3_600_000;

export const deleteAndPrune: readonly ConformanceTest[] = [
  test("C14 a leased job is never deleted, expired or not", async (world) => {
    const fence = await leased(world);
    assertHas((await world.store.delete([fence.jobId], OPTIONS))[0], {
      outcome: "conflict",
      state: "leased",
    });
    await world.lapse(fence.jobId, LAPSE_MS);
    await claim(world, newOwner(), { takeover: false });
    assertHas((await world.store.delete([fence.jobId], OPTIONS))[0], {
      outcome: "conflict",
      state: "leased",
    });
    await settled(world, complete(fence));
  }),

  test("C14 ready, delayed and ended jobs are deleted, and are gone then", async (world) => {
    const fence = await leased(world);
    await settled(world, complete(fence));
    const ids = [fence.jobId, ...(await enqueuedMany(world, [{}, { due: { delayMs: HOUR_MS } }]))];
    const answers = await world.store.delete([...ids, newId()], OPTIONS);
    assert.deepEqual(
      answers.map(({ outcome }) => outcome),
      ["applied", "applied", "applied", "gone"],
    );
    assert.deepEqual(await world.store.get(ids, OPTIONS), [undefined, undefined, undefined]);
    assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    assert.deepEqual(await world.store.settle([complete(fence)], OPTIONS), [{ outcome: "gone" }]);
  }),

  test("C14 an id that is enqueued again after its deletion never gets a generation that was given out", async (world) => {
    const jobId = newId();
    const first = await leased(world, { jobId, mayRepeat: true });
    await settled(world, complete(first));
    await world.store.delete([jobId], OPTIONS);
    const again = await leased(world, { jobId, mayRepeat: true });
    assert.ok(again.generation > first.generation, `${again.generation} after ${first.generation}`);
    assertHas((await world.store.settle([complete(first)], OPTIONS))[0], { outcome: "stale" });
    await settled(world, complete(again));
  }),

  test("C14 pruning removes ended jobs of the given age, at most `limit`, and nothing else", async (world) => {
    const ended: JobId[] = [];
    for (let n = 0; n < 5; n += 1) {
      const fence = await leased(world);
      await settled(world, n === 0 ? fail(fence, "final") : complete(fence));
      ended.push(fence.jobId);
    }
    const held = await leased(world);
    const [ready] = await enqueuedMany(world, [{}]);
    await world.lapse(held.jobId, LAPSE_MS);

    const { store } = world;
    assert.equal(await store.prune({ completedMs: HOUR_MS, failedMs: HOUR_MS }, 100, OPTIONS), 0);
    assert.equal(await store.prune({ completedMs: 0, failedMs: HOUR_MS }, 3, OPTIONS), 3);
    assert.equal(await store.prune({ completedMs: 0, failedMs: HOUR_MS }, 100, OPTIONS), 1);
    const left = (await store.list({}, { limit: 100 }, OPTIONS)).jobs.map(({ jobId }) => jobId);
    assert.deepEqual(left.toSorted(), [ended[0], held.jobId, ready].toSorted());
    assert.equal(await store.prune({ completedMs: 0, failedMs: 0 }, 100, OPTIONS), 1);
    await settled(world, complete(held));
  }),

  test("C14 a pruned job answers `gone`", async (world) => {
    const fence = await leased(world);
    await settled(world, complete(fence));
    await world.store.prune({ completedMs: 0, failedMs: 0 }, 100, OPTIONS);
    assert.deepEqual(await world.store.settle([complete(fence)], OPTIONS), [{ outcome: "gone" }]);
    assert.deepEqual(await world.store.renew([fence], OPTIONS), [{ outcome: "gone" }]);
    assert.deepEqual(await world.store.retry([fence.jobId], false, OPTIONS), [{ outcome: "gone" }]);
  }),
];
