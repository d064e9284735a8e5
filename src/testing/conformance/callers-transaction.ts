import assert from "node:assert/strict";
import { AlreadySettledError, GoneError, InvalidTransactionError, StaleLeaseError } from "../../errors.ts";
import type { Fence } from "../../protocol/identity.ts";
import {
  assertHas,
  claim,
  claimedIds,
  claimOne,
  complete,
  enqueued,
  fail,
  fenceOf,
  LAPSE_MS,
  leased,
  newId,
  newJob,
  newOwner,
  nth,
  OPTIONS,
  reclaimed,
  row,
  settled,
} from "./fixtures.ts";
import { type Chapter, type TestWorld, test } from "./harness.ts";

/** Completes with one write of the body's own. */
function completeWriting(
  world: TestWorld,
  fence: Fence,
  value: string,
  result: string | null = null,
): Promise<void> {
  return world.store.completeWith(
    fence,
    async (tx) => {
      await world.writeInBody(tx, "letter", value);
      return result;
    },
    OPTIONS,
  );
}

export const callersTransaction: Chapter = {
  name: "caller's transaction",
  tests: [
    test("C1 a job enqueued in a transaction is there when it commits, and not before", async (world) => {
      const job = newJob();
      const there = await world.another();
      const caller = await world.begin();
      await caller.write("order", "1");
      const answers = await world.store.enqueue([job], { ...OPTIONS, tx: caller.tx });
      assert.deepEqual(answers, [{ outcome: "enqueued", jobId: job.jobId }]);
      assert.deepEqual(await there.get([job.jobId], OPTIONS), [undefined]);
      await caller.commit();
      assert.equal(await world.read("order"), "1");
      assert.deepEqual(claimedIds(await claim(world, newOwner())), [job.jobId]);
    }),

    test("C1 a job enqueued in a transaction that rolls back never was", async (world) => {
      const job = newJob({ unique: { key: "letter-1", onConflict: "keep" } });
      const caller = await world.begin();
      await caller.write("order", "1");
      await world.store.enqueue([job], { ...OPTIONS, tx: caller.tx });
      await caller.rollback();
      assert.equal(await world.read("order"), undefined);
      assert.deepEqual(await world.store.get([job.jobId], OPTIONS), [undefined]);
      assert.deepEqual(claimedIds(await claim(world, newOwner())), []);
      await enqueued(world, { unique: { key: "letter-1", onConflict: "throw" } });
    }),

    test("C1 in a transaction repeats and keys are answered as outside", async (world) => {
      const known = newJob({ mayRepeat: true });
      await world.store.enqueue([known], OPTIONS);
      const keyed = newJob({ unique: { key: "letter-1", onConflict: "keep" } });
      const caller = await world.begin();
      const options = { ...OPTIONS, tx: caller.tx };
      const first = await world.store.enqueue([known, keyed], options);
      const second = await world.store.enqueue(
        [newJob({ unique: { key: "letter-1", onConflict: "throw" } })],
        options,
      );
      await caller.commit();
      assert.deepEqual(
        [...first, ...second].map(({ outcome, jobId }) => [outcome, jobId]),
        [
          ["repeated", known.jobId],
          ["enqueued", keyed.jobId],
          ["conflict", keyed.jobId],
        ],
      );
    }),

    test("C1 hundreds of jobs share the fate of one transaction", async (world) => {
      const jobs = Array.from({ length: 300 }, () => newJob());
      for (const end of ["rollback", "commit"] as const) {
        const caller = await world.begin();
        await world.store.enqueue(jobs, { ...OPTIONS, tx: caller.tx });
        await caller[end]();
        const { jobs: found } = await world.store.list({}, { limit: 1_000 }, OPTIONS);
        assert.equal(found.length, end === "commit" ? 300 : 0);
      }
    }),

    test("a job enqueued in a transaction wakes a sleeper once it is committed", async (world) => {
      let tell = (): void => {};
      const woken = new Promise<void>((resolve) => {
        tell = resolve;
      });
      const listener = world.store.listen(() => tell());
      try {
        listener.arm();
        const caller = await world.begin();
        await world.store.enqueue([newJob()], { ...OPTIONS, tx: caller.tx });
        await caller.commit();
        await woken;
      } finally {
        listener.close();
      }
    }),

    test("a `tx` that is no transaction of this store is refused, and nothing is written", async (world) => {
      const job = newJob();
      for (const tx of [{}, "tx", 42, null, () => {}]) {
        await assert.rejects(world.store.enqueue([job], { ...OPTIONS, tx }), InvalidTransactionError);
      }
      assert.deepEqual(await world.store.get([job.jobId], OPTIONS), [undefined]);
    }),

    test("a `tx` that has ended is refused, and nothing is written", async (world) => {
      const job = newJob();
      for (const end of ["commit", "rollback"] as const) {
        const caller = await world.begin();
        await caller[end]();
        await assert.rejects(
          world.store.enqueue([job], { ...OPTIONS, tx: caller.tx }),
          InvalidTransactionError,
        );
      }
      assert.deepEqual(await world.store.get([job.jobId], OPTIONS), [undefined]);
    }),

    test("C6 the body's writes and the completion are there together", async (world) => {
      const fence = await leased(world);
      await completeWriting(world, fence, "sent", '{"pages":2}');
      assert.equal(await world.read("letter"), "sent");
      assertHas(await row(world, fence.jobId), {
        state: "completed",
        result: '{"pages":2}',
        settled: { owner: fence.owner, generation: 1, operation: "complete" },
      });
    }),

    test("C6 a body that throws leaves neither writes nor completion, and its error comes through", async (world) => {
      const fence = await leased(world);
      const broken = new Error("no ink");
      const attempt = world.store.completeWith(
        fence,
        async (tx) => {
          await world.writeInBody(tx, "letter", "half");
          throw broken;
        },
        OPTIONS,
      );
      await assert.rejects(attempt, (error) => error === broken);
      assert.equal(await world.read("letter"), undefined);
      assertHas(await row(world, fence.jobId), { state: "leased", owner: fence.owner });
      await completeWriting(world, fence, "whole");
      assert.equal(await world.read("letter"), "whole");
    }),

    test("C10 a stale owner's transaction throws with the current generation, and is rolled back", async (world) => {
      const { a, b } = await reclaimed(world);
      await assert.rejects(completeWriting(world, a, "late"), (error) => {
        assert.ok(error instanceof StaleLeaseError, String(error));
        assert.deepEqual([error.generation, error.current, error.reason], [1, 2, "reclaimed"]);
        return true;
      });
      assert.equal(await world.read("letter"), undefined);
      await completeWriting(world, b, "B's");
      assert.equal(await world.read("letter"), "B's");
    }),

    test("C10 a second completion by the same fence throws as already settled, and is rolled back", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      await assert.rejects(completeWriting(world, fence, "again"), AlreadySettledError);
      assert.equal(await world.read("letter"), undefined);
    }),

    test("C10 after another operation by the same fence it throws as stale, and is rolled back", async (world) => {
      const fence = await leased(world);
      await settled(world, fail(fence));
      await assert.rejects(completeWriting(world, fence, "after all"), StaleLeaseError);
      assert.equal(await world.read("letter"), undefined);
    }),

    test("C10 for a job that does not exist it throws as gone, and is rolled back", async (world) => {
      const fence = await leased(world);
      await assert.rejects(completeWriting(world, { ...fence, jobId: newId() }, "to nobody"), GoneError);
      assert.equal(await world.read("letter"), undefined);
    }),

    test("C5 an owner whose lease expired while nobody reclaimed it may complete with its writes", async (world) => {
      const fence = await leased(world);
      await world.lapse(fence.jobId, LAPSE_MS);
      await completeWriting(world, fence, "late but mine");
      assert.equal(await world.read("letter"), "late but mine");
    }),

    test("C10 of bodies that wait together a refused one takes nothing from the others", async (world) => {
      const { a } = await reclaimed(world, { queue: "parcels" });
      const fine = [await leased(world), await leased(world), await leased(world)];
      const attempt = (fence: Fence, key: string): Promise<void> =>
        world.store.completeWith(
          fence,
          async (tx) => {
            await world.writeInBody(tx, key, key);
            return null;
          },
          OPTIONS,
        );
      const results = await Promise.allSettled([
        attempt(nth(fine, 0), "one"),
        attempt(a, "stale"),
        attempt(nth(fine, 1), "two"),
        attempt(nth(fine, 2), "three"),
      ]);
      assert.deepEqual(
        results.map(({ status }) => status),
        ["fulfilled", "rejected", "fulfilled", "fulfilled"],
      );
      const values = await Promise.all(["one", "stale", "two", "three"].map((key) => world.read(key)));
      assert.deepEqual(values, ["one", undefined, "two", "three"]);
    }),

    test("C6 of two bodies at once for one fence one is applied", async (world) => {
      const fence = await leased(world);
      const results = await Promise.allSettled([
        completeWriting(world, fence, "first"),
        completeWriting(world, fence, "second"),
      ]);
      const lost = results.filter((result) => result.status === "rejected");
      assert.equal(lost.length, 1);
      assert.ok(lost[0]?.reason instanceof AlreadySettledError, String(lost[0]?.reason));
      assert.equal(await world.read("letter"), results[0]?.status === "fulfilled" ? "first" : "second");
    }),

    test("a job can be claimed and completed right after the transaction that enqueued it", async (world) => {
      const caller = await world.begin();
      await world.store.enqueue([newJob({ resource: "desk" })], { ...OPTIONS, tx: caller.tx });
      await caller.commit();
      await completeWriting(world, fenceOf(await claimOne(world, newOwner())), "sent");
      assert.equal(await world.read("letter"), "sent");
    }),
  ],
};
