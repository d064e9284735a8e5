import assert from "node:assert/strict";
import {
  assertAfterNow,
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  fail,
  fenceOf,
  gen,
  LAPSE_MS,
  LEASE_MS,
  leased,
  newJob,
  newOwner,
  OPTIONS,
  QUEUE,
  row,
  settled,
} from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

const HOUR_MS = 3_600_000;
const TEN_MINUTES_MS = 600_000;

export const clocks: Chapter = {
  name: "clocks",
  tests: [
    ...[TEN_MINUTES_MS, -TEN_MINUTES_MS].map((offsetMs) =>
      test(`T1 a worker whose clocks are wrong by ${offsetMs / 60_000} minutes changes nothing`, async (world) => {
        const { store } = world;
        const wrongMs = (await store.nowMs(OPTIONS)) + offsetMs;
        const parameters = await world.withWorkerClock(offsetMs, async () => {
          const held = await leased(world, { queue: "parcels" });
          assert.deepEqual(claimedIds(await claim(world, newOwner(), { queues: ["parcels"] })), []);
          await assertAfterNow(world, LEASE_MS, async () => {
            await store.renew([held], OPTIONS);
            return (await row(world, held.jobId)).leaseUntilMs;
          });
          await assertAfterNow(world, 5_000, async () => {
            const delayed = await enqueued(world, { due: { delayMs: 5_000 } });
            return (await row(world, delayed)).runAtMs;
          });
          assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
          await assertAfterNow(world, 60_000, async () => {
            await store.settle([fail(held, 60_000)], OPTIONS);
            return (await row(world, held.jobId)).runAtMs;
          });
          const owner = newOwner();
          await assertAfterNow(world, LEASE_MS, async () => {
            await store.acquire({ name: "report", owner, leaseMs: LEASE_MS }, OPTIONS);
            return (await store.getLease("report", OPTIONS))?.leaseUntilMs;
          });
          await store.renewLeases([{ name: "report", owner, generation: gen(1) }], OPTIONS);
          await store.cancel([held.jobId], OPTIONS);
          await store.prune({ completedMs: HOUR_MS, failedMs: HOUR_MS }, 10, OPTIONS);
          await store.counts(OPTIONS);
        });
        const suspects = numbersIn(parameters).filter((value) => Math.abs(value - wrongMs) < 120_000);
        assert.deepEqual(suspects, [], "no time of the worker's reaches the store");
      }),
    ),

    test("T1 a claim's times are the store's", async (world) => {
      await enqueued(world);
      await assertAfterNow(world, 0, async () => (await claimOne(world, newOwner())).job.claimedAtMs);
    }),

    test("T5 a step forward expires leases early, and an owner that comes first keeps its own", async (world) => {
      const fence = await leased(world);
      await world.lapse(fence.jobId, HOUR_MS);
      assertHas((await world.store.renew([fence], OPTIONS))[0], { outcome: "applied" });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("T5 a renewal that meets a lease from the future makes it end one lease from now", async (world) => {
      const fence = await leased(world);
      await world.setBack(fence.jobId, HOUR_MS);
      await assertAfterNow(world, LEASE_MS, async () => {
        assertHas((await world.store.renew([fence], OPTIONS))[0], { outcome: "applied", lapsedMs: 0 });
        return (await row(world, fence.jobId)).leaseUntilMs;
      });
    }),

    test("T5 a claim that meets a lease from the future makes it end one lease from now", async (world) => {
      const fence = await leased(world);
      await world.setBack(fence.jobId, HOUR_MS);
      await assertAfterNow(world, LEASE_MS, async () => {
        assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
        return (await row(world, fence.jobId)).leaseUntilMs;
      });
      await world.lapse(fence.jobId, LAPSE_MS);
      assert.equal((await claimOne(world, newOwner())).previous?.owner, fence.owner);
    }),

    test("T5 a lease within the margin of the future is left as it is by a claim", async (world) => {
      const fence = await leased(world);
      await world.setBack(fence.jobId, LEASE_MS / 20);
      const before = (await row(world, fence.jobId)).leaseUntilMs;
      await claim(world, newOwner());
      assert.equal((await row(world, fence.jobId)).leaseUntilMs, before);
    }),

    test("T5 whoever meets a named lease from the future makes it end one lease from now", async (world) => {
      const { store } = world;
      await store.acquire({ name: "report", owner: newOwner(), leaseMs: LEASE_MS }, OPTIONS);
      await world.setBack("report", HOUR_MS);
      const answer = await store.acquire({ name: "report", owner: newOwner(), leaseMs: LEASE_MS }, OPTIONS);
      assert.equal(answer.outcome, "held");
      assert.ok(answer.outcome === "held" && answer.remainingMs <= LEASE_MS);
      await world.lapse("report", LAPSE_MS);
      const again = await store.acquire({ name: "report", owner: newOwner(), leaseMs: LEASE_MS }, OPTIONS);
      assert.equal(again.outcome, "applied");
    }),

    test("T5 a claim that meets a resource from the future makes its lease end one lease from now", async (world) => {
      const fence = await leased(world, { resource: "desk" });
      for (const what of [fence.jobId, "desk"]) await world.setBack(what, HOUR_MS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      for (const what of [fence.jobId, "desk"]) await world.lapse(what, LAPSE_MS);
      const { job, token } = await claimOne(world, newOwner());
      assert.deepEqual([job.jobId, token.generation], [fence.jobId, gen(2)]);
    }),

    test("T5 a renewed named lease from the future ends one lease from now", async (world) => {
      const { store } = world;
      const owner = newOwner();
      await store.acquire({ name: "report", owner, leaseMs: LEASE_MS }, OPTIONS);
      await world.setBack("report", HOUR_MS);
      await assertAfterNow(world, LEASE_MS, async () => {
        await store.renewLeases([{ name: "report", owner, generation: gen(1) }], OPTIONS);
        return (await store.getLease("report", OPTIONS))?.leaseUntilMs;
      });
    }),

    test("a ready job without delay is due whatever the clock says", async (world) => {
      const id = await enqueued(world);
      await world.setBack(id, HOUR_MS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [id]);
    }),

    test("a released and an operator's retried job are due whatever the clock says", async (world) => {
      const fence = await leased(world);
      await settled(world, fail(fence, "final"));
      await world.store.retry([fence.jobId], false, OPTIONS);
      await world.setBack(fence.jobId, HOUR_MS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [fence.jobId]);
    }),

    test("the owner of an expired lease may still complete after the clock was set back", async (world) => {
      const fence = await leased(world);
      await world.lapse(fence.jobId, LAPSE_MS);
      await claim(world, newOwner(), { takeover: false });
      await world.setBack(fence.jobId, LAPSE_MS);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await settled(world, complete(fence));
    }),

    test("a raised epoch is above the one before and above the hours since 2025 by store time", async ({
      store,
    }) => {
      const hours = Math.floor(((await store.nowMs(OPTIONS)) - Date.UTC(2025, 0, 1)) / HOUR_MS);
      const first = await store.raiseFloor(OPTIONS);
      const second = await store.raiseFloor(OPTIONS);
      assert.ok(first.epoch >= hours && first.epoch >= 1);
      assert.ok(second.epoch > first.epoch);
    }),

    test("a lease of the longest length and one of the shortest end when they should", async (world) => {
      for (const leaseMs of [250, 30 * 24 * HOUR_MS]) {
        const id = newJob().jobId;
        await enqueued(world, { jobId: id, leaseMs, queue: String(leaseMs) });
        await assertAfterNow(world, leaseMs, async () => {
          const claimed = await claimOne(world, newOwner(), { queues: [String(leaseMs)] });
          return claimed.job.leaseUntilMs;
        });
        await world.lapse(id, leaseMs + 60_000);
        const next = await claimOne(world, newOwner(), { queues: [String(leaseMs)] });
        assert.equal(fenceOf(next).generation, 2);
      }
      assert.deepEqual(claimedIds(await claim(world, newOwner(), { queues: [QUEUE] })), []);
    }),
  ],
};

/** Every number in the values, also in JSON texts. */
function numbersIn(value: unknown): number[] {
  if (typeof value === "number") return [value];
  if (typeof value === "bigint") return [Number(value)];
  if (typeof value === "string") {
    try {
      const parsed: unknown = JSON.parse(value);
      return typeof parsed === "string" ? [] : numbersIn(parsed);
    } catch {
      return [];
    }
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(numbersIn);
}
