import assert from "node:assert/strict";
import type { Settlement } from "../../protocol/settle.ts";
import type { Store } from "../../stores/store.ts";
import {
  assertAfterNow,
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  enqueuedMany,
  fail,
  fenceOf,
  journalOf,
  LAPSE_MS,
  leased,
  newId,
  newOwner,
  nth,
  OPTIONS,
  reclaimed,
  release,
  row,
  settled,
  settlement,
} from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

const OPERATIONS = ["complete", "fail", "release"] as const;

export const settleChapter: Chapter = {
  name: "settle",
  tests: [
    test("C6 complete ends the job with its result and frees it from its owner", async (world) => {
      const fence = await leased(world);
      await assertAfterNow(world, 0, async () => {
        const answers = await world.store.settle([complete(fence, '{"sent":true}')], OPTIONS);
        assert.deepEqual(answers, [{ outcome: "applied", state: "completed", endReason: "completed" }]);
        return (await row(world, fence.jobId)).finishedAtMs;
      });
      assertHas(await row(world, fence.jobId), {
        state: "completed",
        endReason: "completed",
        result: '{"sent":true}',
        owner: null,
        leaseUntilMs: null,
        generation: 1,
        attempt: 1,
        settled: { owner: fence.owner, generation: 1, operation: "complete" },
      });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("C7 a failed attempt makes the job ready again after its delay, and keeps the error", async (world) => {
      const fence = await leased(world);
      await assertAfterNow(world, 30_000, async () => {
        const answers = await world.store.settle([fail(fence, 30_000, '{"message":"no stamp"}')], OPTIONS);
        assert.deepEqual(answers, [{ outcome: "applied", state: "ready", endReason: null }]);
        return (await row(world, fence.jobId)).runAtMs;
      });
      assertHas(await row(world, fence.jobId), {
        error: '{"message":"no stamp"}',
        attempt: 1,
        generation: 1,
        owner: null,
        finishedAtMs: null,
        settled: { owner: fence.owner, generation: 1, operation: "fail" },
      });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await world.lapse(fence.jobId, 31_000);
      assertHas((await claimOne(world, newOwner())).job, { attempt: 2, generation: 2 });
    }),

    test("C7 a retry without delay is due at once, whatever the clock says", async (world) => {
      const fence = await leased(world);
      await settled(world, fail(fence, 0));
      assert.equal((await row(world, fence.jobId)).runAtMs, null);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [fence.jobId]);
    }),

    test("C7 a final failure ends the job, attempts or not", async (world) => {
      const fence = await leased(world, { maxAttempts: 9 });
      const answers = await world.store.settle([fail(fence, "final")], OPTIONS);
      assert.deepEqual(answers, [{ outcome: "applied", state: "failed", endReason: "final" }]);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
    }),

    test("C7 a failure of the last attempt ends the job, though a retry was asked for", async (world) => {
      const fence = await leased(world, { maxAttempts: 1 });
      const answers = await world.store.settle([fail(fence, 1_000)], OPTIONS);
      assert.deepEqual(answers, [{ outcome: "applied", state: "failed", endReason: "attempts_exhausted" }]);
      assertHas(await row(world, fence.jobId), { state: "failed", runAtMs: null, attempt: 1 });
    }),

    test("C7 a completion after a failed attempt clears the error", async (world) => {
      const fence = await leased(world);
      await settled(world, fail(fence));
      await settled(world, complete(fenceOf(await claimOne(world, newOwner())), "1"));
      assertHas(await row(world, fence.jobId), { state: "completed", error: null, result: "1", attempt: 2 });
    }),

    test("C8 release gives the attempt back and keeps the generation", async (world) => {
      const fence = await leased(world);
      const answers = await world.store.settle([release(fence)], OPTIONS);
      assert.deepEqual(answers, [{ outcome: "applied", state: "ready", endReason: null }]);
      assertHas(await row(world, fence.jobId), {
        state: "ready",
        attempt: 0,
        generation: 1,
        owner: null,
        runAtMs: null,
      });
      assertHas((await claimOne(world, newOwner())).job, { attempt: 1, generation: 2 });
    }),

    test("C8 release gives back its own attempt, and none that was used before it", async (world) => {
      const fence = await leased(world);
      await settled(world, fail(fence, 0));
      const again = fenceOf(await claimOne(world, newOwner()));
      await settled(world, release(again));
      assertHas(await row(world, fence.jobId), { state: "ready", attempt: 1, generation: 2 });
    }),

    test("C8 release with a delay keeps the job back for that long", async (world) => {
      const fence = await leased(world);
      await assertAfterNow(world, 20_000, async () => {
        await settled(world, release(fence, 20_000));
        return (await row(world, fence.jobId)).runAtMs;
      });
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await world.lapse(fence.jobId, 21_000);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [fence.jobId]);
    }),

    test("C5 settles for an owner whose lease expired while nobody reclaimed it", async (world) => {
      for (const operation of OPERATIONS) {
        const fence = await leased(world, { queue: operation });
        await world.lapse(fence.jobId, LAPSE_MS);
        await claim(world, newOwner(), { queues: [operation], takeover: false });
        await settled(world, settlement(operation, fence));
      }
    }),

    test("C9 one batch mixes operations, and answers each in its place", async (world) => {
      const [a, b, c] = [await leased(world), await leased(world), await leased(world)];
      const gone = { ...a, jobId: newId() };
      const answers = await world.store.settle(
        [release(a), complete(gone), fail(b, "final"), complete(c)],
        OPTIONS,
      );
      assert.deepEqual(answers, [
        { outcome: "applied", state: "ready", endReason: null },
        { outcome: "gone" },
        { outcome: "applied", state: "failed", endReason: "final" },
        { outcome: "applied", state: "completed", endReason: "completed" },
      ]);
    }),

    test("C9 two settlings of one fence in one batch end its run once", async (world) => {
      const fence = await leased(world);
      const same = await world.store.settle([complete(fence, "1"), complete(fence, "2")], OPTIONS);
      assert.deepEqual(same.map(({ outcome }) => outcome).toSorted(), ["already", "applied"]);
      const other = await leased(world);
      const mixed = await world.store.settle([complete(other), fail(other)], OPTIONS);
      assert.deepEqual(mixed.map(({ outcome }) => outcome).toSorted(), ["applied", "stale"]);
    }),

    test("C9 settles a thousand in one call", async (world) => {
      await enqueuedMany(
        world,
        Array.from({ length: 1_000 }, () => ({})),
      );
      const { jobs } = await claim(world, newOwner(), { limit: 1_000 });
      const answers = await world.store.settle(
        jobs.map((job, n) => complete(fenceOf(job), String(n))),
        OPTIONS,
      );
      assert.equal(answers.filter(({ outcome }) => outcome === "applied").length, 1_000);
      const [last] = await world.store.get([nth(jobs, 999).job.jobId], OPTIONS);
      assert.equal(last?.result, "999");
    }),

    test("C9 of two ends at once of one run exactly one is applied", async (world) => {
      const there = await world.another();
      const fence = await leased(world);
      const settle = async (store: Store, end: Settlement): Promise<string | undefined> => {
        // Where another has the row at this moment the answer is `busy`: nothing was applied, ask again.
        for (;;) {
          const [answer] = await store.settle([end], OPTIONS);
          if (answer?.outcome !== "busy") return answer?.outcome;
        }
      };
      const outcomes = await Promise.all([
        settle(world.store, complete(fence)),
        settle(there, fail(fence, "final")),
      ]);
      assert.deepEqual(outcomes.toSorted(), ["applied", "stale"]);
      const { state } = await row(world, fence.jobId);
      assert.equal(state, outcomes[0] === "applied" ? "completed" : "failed");
    }),

    test("a claim never returns a job that is being settled", async (world) => {
      const there = await world.another();
      const fence = await leased(world);
      await world.lapse(fence.jobId, LAPSE_MS);
      const [answers, claimed] = await Promise.all([
        world.store.settle([complete(fence)], OPTIONS),
        claim({ store: there }, newOwner()),
      ]);
      const applied = answers[0]?.outcome === "applied";
      assert.equal(claimed.jobs.length, applied ? 0 : 1);
      assert.equal((await row(world, fence.jobId)).state, applied ? "completed" : "leased");
    }),

    test("C11 outcome() tells what became of a fence, and writes nothing", async (world) => {
      const { store } = world;
      const { a, b } = await reclaimed(world);
      const before = [await row(world, a.jobId), await journalOf(world, a.jobId)];
      assert.deepEqual(await store.outcome(b, OPTIONS), { outcome: "current" });
      assertHas(await store.outcome(a, OPTIONS), { outcome: "stale", generation: 2, reason: "reclaimed" });
      assert.deepEqual(await store.outcome({ ...a, jobId: newId() }, OPTIONS), { outcome: "gone" });
      assert.deepEqual([await row(world, a.jobId), await journalOf(world, a.jobId)], before);
      await settled(world, fail(b));
      assert.deepEqual(await store.outcome(b, OPTIONS), { outcome: "settled", operation: "fail" });
    }),

    test("C8 progress is kept with the job, and a log with its journal", async (world) => {
      const fence = await leased(world);
      const answers = await world.store.write(
        [
          { fence, progress: "0.5" },
          { fence, log: "half way" },
        ],
        OPTIONS,
      );
      assert.deepEqual(
        answers.map(({ outcome }) => outcome),
        ["applied", "applied"],
      );
      assert.equal((await row(world, fence.jobId)).progress, "0.5");
      const logs = (await journalOf(world, fence.jobId)).filter(({ kind }) => kind === "log");
      assert.equal(logs.length, 1);
      assertHas(logs[0], { owner: fence.owner, generation: 1, message: "half way" });
    }),

    test("C8 progress and logs after the run's own end are stale", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      const answers = await world.store.write(
        [
          { fence, progress: "1" },
          { fence, log: "late" },
        ],
        OPTIONS,
      );
      assert.deepEqual(
        answers.map(({ outcome }) => outcome),
        ["stale", "stale"],
      );
      assert.equal((await row(world, fence.jobId)).progress, null);
    }),

    test("the journal tells each way in which a run ended, with its fence", async (world) => {
      const kinds: string[] = [];
      const ends = [
        complete,
        release,
        (fence: Parameters<typeof fail>[0]) => fail(fence),
        (fence: Parameters<typeof fail>[0]) => fail(fence, "final"),
      ];
      for (const end of ends) {
        await enqueued(world);
        const fence = fenceOf(await claimOne(world, newOwner(), { limit: 1 }));
        await settled(world, end(fence));
        const entries = await journalOf(world, fence.jobId);
        const last = entries.at(-1);
        assertHas(last, { owner: fence.owner, generation: fence.generation });
        kinds.push(last?.kind ?? "");
        await world.store.delete([fence.jobId], OPTIONS);
      }
      assert.deepEqual(kinds, ["completed", "released", "retrying", "failed"]);
    }),

    test("a run from arrival to completion leaves three entries in the journal", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      const entries = await journalOf(world, fence.jobId);
      assert.deepEqual(
        entries.map(({ kind, owner, generation }) => [kind, owner, generation]),
        [
          ["enqueued", null, 0],
          ["claimed", fence.owner, 1],
          ["completed", fence.owner, 1],
        ],
      );
      assert.deepEqual(
        entries.map(({ atMs }) => atMs),
        entries.map(({ atMs }) => atMs).toSorted((a, b) => a - b),
      );
    }),
  ],
};
