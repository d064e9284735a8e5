import assert from "node:assert/strict";
import type { Fence } from "../../protocol/identity.ts";
import {
  assertAfterNow,
  assertHas,
  claim,
  claimedIds,
  complete,
  enqueuedMany,
  fenceOf,
  gen,
  LAPSE_MS,
  LEASE_MS,
  leased,
  newId,
  newOwner,
  OPTIONS,
  reclaimed,
  release,
  row,
  settled,
} from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

export const renewChapter: Chapter = {
  name: "renew",
  tests: [
    test("C5 extends the lease to end one lease from now", async (world) => {
      const fence = await leased(world);
      await world.lapse(fence.jobId, 40_000);
      await assertAfterNow(world, LEASE_MS, async () => {
        const answers = await world.store.renew([fence], OPTIONS);
        assert.deepEqual(answers, [{ outcome: "applied", lapsedMs: 0, cancelRequested: false }]);
        return (await row(world, fence.jobId)).leaseUntilMs;
      });
    }),

    test("C5 changes neither generation nor owner nor attempt", async (world) => {
      const fence = await leased(world);
      const { leaseUntilMs: _, ...before } = await row(world, fence.jobId);
      await world.store.renew([fence], OPTIONS);
      const { leaseUntilMs: __, ...after } = await row(world, fence.jobId);
      assert.deepEqual(after, before);
    }),

    test("C5 accepts an owner whose lease expired while nobody reclaimed it, and says for how long", async (world) => {
      const fence = await leased(world);
      await world.lapse(fence.jobId, LAPSE_MS);
      const [answer] = await world.store.renew([fence], OPTIONS);
      assert.equal(answer?.outcome, "applied");
      const lapsedMs = answer?.outcome === "applied" ? answer.lapsedMs : 0;
      assert.ok(lapsedMs >= LAPSE_MS - LEASE_MS && lapsedMs < LEASE_MS, `lapsed for ${lapsedMs} ms`);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("C5 accepts that owner also after a claim has looked at the expired lease without taking it", async (world) => {
      const fence = await leased(world);
      await world.lapse(fence.jobId, LAPSE_MS);
      assert.deepEqual(claimedIds(await claim(world, newOwner(), { takeover: false })), []);
      const [answer] = await world.store.renew([fence], OPTIONS);
      assert.equal(answer?.outcome, "applied");
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      assertHas(await row(world, fence.jobId), { state: "leased", owner: fence.owner, generation: 1 });
    }),

    test("C5 a lease that was renewed after a claim had found it lapsed, and its limit used up, is taken by nobody", async (world) => {
      await enqueuedMany(world, [{}, {}]);
      const { jobs } = await claim(world, newOwner());
      const [, left] = jobs.map(fenceOf) as [Fence, Fence];
      for (const { job } of jobs) await world.lapse(job.jobId, LAPSE_MS);
      assert.equal((await claim(world, newOwner(), { limit: 1 })).jobs.length, 1);
      assertHas((await world.store.renew([left], OPTIONS))[0], { outcome: "applied" });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      assertHas(await row(world, left.jobId), { state: "leased", owner: left.owner, generation: 1 });
    }),

    test("C5 never shortens a lease", async (world) => {
      const fence = await leased(world);
      await world.setBack(fence.jobId, 5_000); // less than the margin, so that T5 does not apply
      const before = (await row(world, fence.jobId)).leaseUntilMs ?? 0;
      await world.store.renew([fence], OPTIONS);
      assert.ok(((await row(world, fence.jobId)).leaseUntilMs ?? 0) >= before);
    }),

    test("C5 leaves the count of lapses as it was", async (world) => {
      const { b } = await reclaimed(world);
      await world.store.renew([b], OPTIONS);
      assert.equal((await row(world, b.jobId)).expiredCount, 1);
    }),

    test("C5 renews hundreds in one call", async (world) => {
      await enqueuedMany(
        world,
        Array.from({ length: 300 }, () => ({})),
      );
      const { jobs } = await claim(world, newOwner(), { limit: 300 });
      for (const { job } of jobs.slice(0, 3)) await world.lapse(job.jobId, LAPSE_MS);
      const answers = await world.store.renew(jobs.map(fenceOf), OPTIONS);
      assert.equal(answers.filter(({ outcome }) => outcome === "applied").length, 300);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("C5 answers each member of a batch in its place", async (world) => {
      const mine = await leased(world);
      const unknown = { ...mine, jobId: newId() };
      const { a, b } = await reclaimed(world, { queue: "parcels" });
      const answers = await world.store.renew([unknown, mine, a, b], OPTIONS);
      assert.deepEqual(
        answers.map(({ outcome }) => outcome),
        ["gone", "applied", "stale", "applied"],
      );
    }),

    test("C9 after the run's own end a renewal is stale, and says how the job ended", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      const [answer] = await world.store.renew([fence], OPTIONS);
      assertHas(answer, { outcome: "stale", generation: gen(1), state: "completed", endReason: "completed" });
    }),

    test("C9 after the run gave its job back a renewal is stale", async (world) => {
      const fence = await leased(world);
      await settled(world, release(fence));
      const [answer] = await world.store.renew([fence], OPTIONS);
      assertHas(answer, { outcome: "stale", generation: gen(1), state: "ready", reason: "settled" });
      assert.equal((await row(world, fence.jobId)).leaseUntilMs, null);
    }),

    test("C9 for a job that does not exist the answer is `gone`", async (world) => {
      const fence = await leased(world);
      assert.deepEqual(await world.store.renew([{ ...fence, jobId: newId() }], OPTIONS), [
        { outcome: "gone" },
      ]);
    }),

    test("C13 brings a pending cancel to the owner", async (world) => {
      const fence = await leased(world);
      await world.store.cancel([fence.jobId], OPTIONS);
      for (const _ of [1, 2]) {
        const [answer] = await world.store.renew([fence], OPTIONS);
        assertHas(answer, { outcome: "applied", cancelRequested: true });
      }
    }),
  ],
};
