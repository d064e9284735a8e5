import assert from "node:assert/strict";
import type { JobId } from "../../protocol/identity.ts";
import {
  claim,
  claimedIds,
  enqueued,
  enqueuedMany,
  fail,
  fenceOf,
  LAPSE_MS,
  newOwner,
  nth,
  QUEUE,
  settled,
} from "./fixtures.ts";
import { type ConformanceTest, test } from "./harness.ts";

export const claimOrder: readonly ConformanceTest[] = [
  test("C15 lower priority numbers go first, then the order of arrival", async (world) => {
    const [b, c, a, d] = await enqueuedMany(world, [
      { priority: 1 },
      { priority: 1 },
      { priority: -1 },
      { priority: 2 },
    ]);
    const order: unknown[] = [];
    for (let n = 0; n < 4; n += 1) order.push(...claimedIds(await claim(world, newOwner(), { limit: 1 })));
    assert.deepEqual(order, [a, b, c, d]);
  }),

  test("C15 one claim returns its jobs in their order", async (world) => {
    const [b, c, a] = await enqueuedMany(world, [{ priority: 1 }, { priority: 1 }, { priority: 0 }]);
    assert.deepEqual(claimedIds(await claim(world, newOwner())), [a, b, c]);
  }),

  test("C15 a delayed, a retried and an expired job take their places by `seq` when due", async (world) => {
    const ids = await enqueuedMany(world, [{ due: { delayMs: 60_000 } }, {}, {}, {}]);
    const claimed = await claim(world, newOwner(), { limit: 2 });
    assert.deepEqual(claimedIds(claimed), ids.slice(1, 3));
    await settled(world, fail(fenceOf(nth(claimed.jobs, 0)), 60_000));
    for (const id of ids.slice(0, 3)) await world.lapse(id, LAPSE_MS);
    const order: unknown[] = [];
    for (let n = 0; n < 4; n += 1) order.push(...claimedIds(await claim(world, newOwner(), { limit: 1 })));
    assert.deepEqual(order, ids);
  }),

  test("C15 between queues a claim takes turns", async (world) => {
    for (const queue of ["a", "b", "c"])
      await enqueuedMany(
        world,
        Array.from({ length: 5 }, () => ({ queue })),
      );
    const { jobs } = await claim(world, newOwner(), { queues: ["a", "b", "c"], limit: 6 });
    const counts = ["a", "b", "c"].map((queue) => jobs.filter(({ job }) => job.queue === queue).length);
    assert.deepEqual(counts, [2, 2, 2]);
  }),

  test("C15 what one queue does not use goes to the others", async (world) => {
    await enqueued(world, { queue: "a" });
    await enqueuedMany(
      world,
      Array.from({ length: 9 }, () => ({ queue: "b" })),
    );
    const { jobs } = await claim(world, newOwner(), { queues: ["a", "b", "none"], limit: 6 });
    assert.equal(jobs.length, 6);
    assert.equal(jobs.filter(({ job }) => job.queue === "a").length, 1);
  }),

  test("C15 a queue that is named twice counts once", async (world) => {
    const ids = await enqueuedMany(world, [{}, {}]);
    const claimed = await claim(world, newOwner(), { queues: [QUEUE, QUEUE] });
    assert.deepEqual(claimedIds(claimed), ids);
  }),

  // More than one sweep looks at, so that those in front would hide it from one that always began anew.
  test("C16 reaches the one expired lease behind ten thousand that have not, and one that cannot run again", async (world) => {
    const ids = await enqueuedMany(
      world,
      Array.from({ length: 10_002 }, (_, n) => (n === 10_001 ? { maxAttempts: 1 } : {})),
    );
    const owner = newOwner();
    for (let held = 0; held < ids.length; ) {
      held += (await claim(world, owner, { limit: 500, takeover: false })).jobs.length;
    }
    for (const id of ids.slice(10_000)) await world.lapse(id, LAPSE_MS);
    const claimed: JobId[] = [];
    const ended: JobId[] = [];
    for (let n = 0; n < 12; n += 1) {
      const found = await claim(world, newOwner());
      claimed.push(...claimedIds(found));
      ended.push(...found.ended.map(({ jobId }) => jobId));
    }
    assert.deepEqual([claimed, ended], [[ids[10_000]], [ids[10_001]]]);
  }),

  test("says in how many ms the next delayed job is due", async (world) => {
    await enqueuedMany(world, [{ due: { delayMs: 90_000 } }, { due: { delayMs: 40_000 } }]);
    const { nextDueInMs } = await claim(world, newOwner());
    assert.ok(
      nextDueInMs !== undefined && nextDueInMs > 20_000 && nextDueInMs <= 40_000,
      `in ${nextDueInMs} ms`,
    );
  }),

  test("knows of no next job where none is delayed", async (world) => {
    await enqueued(world);
    assert.equal((await claim(world, newOwner())).nextDueInMs, undefined);
  }),
];
