import assert from "node:assert/strict";
import {
  assertHas,
  claim,
  complete,
  fail,
  LAPSE_MS,
  leased,
  newOwner,
  nth,
  OPTIONS,
  reclaimed,
  row,
} from "./fixtures.ts";
import { type ConformanceTest, test } from "./harness.ts";
import { knownAnswer, WRITES } from "./stale-writes.ts";

export const staleInCompany: readonly ConformanceTest[] = [
  test("in a batch of renewals a stale member neither poisons nor drops the others", async (world) => {
    const fine = [await leased(world), await leased(world)];
    for (const { jobId } of fine) await world.lapse(jobId, 60_000);
    const { a } = await reclaimed(world, { queue: "parcels" });
    const answers = await world.store.renew([nth(fine, 0), a, nth(fine, 1)], OPTIONS);
    assert.deepEqual(
      answers.map(({ outcome }) => outcome),
      ["applied", "stale", "applied"],
    );
  }),

  test("in a batch of settlings a stale member neither poisons nor drops the others", async (world) => {
    const { a, b } = await reclaimed(world, { queue: "parcels" });
    const fine = [await leased(world), await leased(world)];
    const answers = await world.store.settle(
      [complete(nth(fine, 0)), complete(a), fail(nth(fine, 1)), complete(b)],
      OPTIONS,
    );
    assert.deepEqual(
      answers.map(({ outcome }) => outcome),
      ["applied", "stale", "applied", "applied"],
    );
    assert.equal((await row(world, nth(fine, 0).jobId)).state, "completed");
  }),

  test("in a batch of writes a stale member neither poisons nor drops the others", async (world) => {
    const { a, b } = await reclaimed(world, { queue: "parcels" });
    const writes = [
      { fence: a, progress: "1" },
      { fence: b, progress: "2" },
    ];
    const answers = await world.store.write(writes, OPTIONS);
    assert.deepEqual(
      answers.map(({ outcome }) => outcome),
      ["stale", "applied"],
    );
    assert.equal((await row(world, b.jobId)).progress, "2");
  }),

  test("a refusal is loud and current also when the reclaim commits while the call waits", async (world) => {
    const there = await world.another();
    for (const [name, write] of Object.entries(WRITES)) {
      const queue = `race ${name}`;
      const fence = await leased(world, { queue });
      await world.lapse(fence.jobId, LAPSE_MS);
      const [claimed, answer] = await Promise.all([
        claim({ store: there }, newOwner(), { queues: [queue] }),
        knownAnswer(write, world.store, fence),
      ]);
      const taken = claimed.jobs[0]?.job.generation;
      if (taken === undefined || answer?.outcome !== "stale") {
        // The write came first, and was the owner's good right. Some leave the job claimable, and some do not.
        assert.equal(answer?.outcome, "applied", name);
        if (["renew", "complete", "fail for good"].includes(name)) assert.equal(taken, undefined, name);
      } else {
        assert.equal(answer.generation, taken, name);
      }
    }
  }),

  test("a call that waits for another's transaction is judged by what that one committed", async (world) => {
    const there = await world.another();
    const { a, b } = await reclaimed(world);
    const other = await world.begin();
    await other.write("held", "yes");
    const waiting = Promise.all([there.settle([complete(b)], OPTIONS), there.settle([complete(a)], OPTIONS)]);
    await other.commit();
    const [mine, late] = await waiting;
    assert.equal(mine[0]?.outcome, "applied");
    assertHas(late[0], { outcome: "stale", generation: 2 });
    // Side by side, the refused one may look before the other has committed: then it tells of the lease it lost to.
    assert.ok(["leased", "completed"].includes((late[0] as { state?: string }).state ?? ""), "its state");
  }),
];
