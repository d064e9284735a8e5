import assert from "node:assert/strict";
import {
  AlreadySettledError,
  StoreBusyError,
  StoreUnusableError,
  UnknownOutcomeError,
} from "../../errors.ts";
import type { Fence } from "../../protocol/identity.ts";
import type { Store } from "../../stores/store.ts";
import { type Fault, faultStore } from "../fault-store.ts";
import {
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
  release,
  required,
  row,
  settled,
  settlement,
} from "./fixtures.ts";
import { type Chapter, test } from "./harness.ts";

/** The store as it looks over a connection that loses the first call of `method`, or its reply. */
function losing(store: Store, method: keyof Store, fault: Fault): Store {
  return faultStore(store, (call) => (call.method === method && call.number === 1 ? fault : "none"));
}

const OPERATIONS = ["complete", "fail", "release"] as const;

export const lostReplies: Chapter = {
  name: "lost replies",
  tests: [
    test("C9 a settling whose reply was lost is `already` when it is repeated, and counts once", async (world) => {
      for (const operation of OPERATIONS) {
        const fence = await leased(world, { queue: operation });
        const store = losing(world.store, "settle", "drop reply");
        await assert.rejects(store.settle([settlement(operation, fence)], OPTIONS), UnknownOutcomeError);
        const before = await row(world, fence.jobId);
        assert.deepEqual(await store.settle([settlement(operation, fence)], OPTIONS), [
          { outcome: "already" },
        ]);
        assert.deepEqual(await row(world, fence.jobId), before);
      }
    }),

    test("C9 a settling whose request was lost is applied when it is repeated", async (world) => {
      for (const operation of OPERATIONS) {
        const fence = await leased(world, { queue: operation });
        const store = losing(world.store, "settle", "drop request");
        await assert.rejects(store.settle([settlement(operation, fence)], OPTIONS), UnknownOutcomeError);
        assertHas((await store.settle([settlement(operation, fence)], OPTIONS))[0], { outcome: "applied" });
      }
    }),

    test("C9 a settling that arrives twice is applied once", async (world) => {
      const fence = await leased(world, { maxAttempts: 3 });
      const store = losing(world.store, "settle", "duplicate");
      assert.deepEqual(await store.settle([fail(fence)], OPTIONS), [{ outcome: "already" }]);
      assertHas(await row(world, fence.jobId), { attempt: 1, state: "ready" });
    }),

    test("C9 another operation after the first one is stale, not `already`", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      for (const other of [fail(fence), release(fence)]) {
        assertHas((await world.store.settle([other], OPTIONS))[0], { outcome: "stale", state: "completed" });
      }
    }),

    test("C9 the same operation under another owner or generation is stale, not `already`", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      for (const other of [
        { ...fence, owner: newOwner() },
        { ...fence, generation: gen(0) },
      ]) {
        assertHas((await world.store.settle([complete(other)], OPTIONS))[0], {
          outcome: "stale",
          state: "completed",
        });
      }
    }),

    test("C9 `already` lasts while others hold the job, and ends when one of them settles it", async (world) => {
      const fence = await leased(world);
      await settled(world, release(fence));
      const next = fenceOf(await claimOne(world, newOwner()));
      assert.deepEqual(await world.store.settle([release(fence)], OPTIONS), [{ outcome: "already" }]);
      await settled(world, complete(next));
      assertHas((await world.store.settle([release(fence)], OPTIONS))[0], {
        outcome: "stale",
        generation: 2,
      });
    }),

    test("C9 `already` is said also after an operator's retry, since the fence did end its run", async (world) => {
      const fence = await leased(world);
      await settled(world, complete(fence));
      await world.store.retry([fence.jobId], false, OPTIONS);
      assert.deepEqual(await world.store.settle([complete(fence)], OPTIONS), [{ outcome: "already" }]);
      assert.equal((await row(world, fence.jobId)).state, "ready");
    }),

    test("C1 an enqueue whose reply was lost is one job when it is repeated", async (world) => {
      const job = newJob();
      const store = losing(world.store, "enqueue", "drop reply");
      await assert.rejects(store.enqueue([job], OPTIONS), UnknownOutcomeError);
      assertHas((await store.enqueue([{ ...job, mayRepeat: true }], OPTIONS))[0], {
        outcome: "repeated",
        jobId: job.jobId,
      });
      assert.equal((await claim(world, newOwner())).jobs.length, 1);
    }),

    test("C4 a claim without a reply is not recovered: its jobs lapse", async (world) => {
      const owner = newOwner();
      const jobId = await enqueued(world);
      const store = losing(world.store, "claim", "drop reply");
      await assert.rejects(claim({ store }, owner), UnknownOutcomeError);
      assert.deepEqual(claimedIds(await claim({ store }, owner)), []);
      await world.lapse(jobId, LAPSE_MS);
      assertHas((await claimOne({ store }, owner)).job, { jobId, generation: 2, attempt: 2 });
    }),

    test("C4 a claim that arrives after its caller gave up is as lost as its reply", async (world) => {
      let arrive = (): void => {};
      const held = new Promise<void>((resolve) => {
        arrive = resolve;
      });
      const jobId = await enqueued(world);
      const store = losing(world.store, "claim", { delayRequest: held });
      const late = claim({ store }, newOwner());
      const fence = fenceOf(await claimOne(world, newOwner()));
      arrive();
      assert.deepEqual(claimedIds(await late), []);
      assertHas(await row(world, jobId), { owner: fence.owner, generation: 1 });
    }),

    test("C5 a renewal whose reply was lost can be repeated", async (world) => {
      const fence = await leased(world);
      const store = losing(world.store, "renew", "drop reply");
      await assert.rejects(store.renew([fence], OPTIONS), UnknownOutcomeError);
      assertHas((await store.renew([fence], OPTIONS))[0], { outcome: "applied" });
    }),

    test("a renewal that arrives after its run has ended changes nothing", async (world) => {
      let arrive = (): void => {};
      const held = new Promise<void>((resolve) => {
        arrive = resolve;
      });
      const fence = await leased(world);
      const late = losing(world.store, "renew", { delayRequest: held }).renew([fence], OPTIONS);
      await settled(world, release(fence));
      const next = fenceOf(await claimOne(world, newOwner()));
      const before = await row(world, fence.jobId);
      arrive();
      assertHas((await late)[0], { outcome: "stale", generation: 2 });
      assert.deepEqual(await row(world, next.jobId), before);
    }),

    test("a completion that arrives after its owner was replaced is stale", async (world) => {
      let arrive = (): void => {};
      const held = new Promise<void>((resolve) => {
        arrive = resolve;
      });
      const fence = await leased(world);
      const late = losing(world.store, "settle", { delayRequest: held }).settle([complete(fence)], OPTIONS);
      await world.lapse(fence.jobId, LAPSE_MS);
      await settled(world, complete(fenceOf(await claimOne(world, newOwner())), '"B"'));
      arrive();
      assertHas((await late)[0], { outcome: "stale", generation: 2, state: "completed" });
      assert.equal((await row(world, fence.jobId)).result, '"B"');
    }),

    test("C11 after a completeWith without a reply, outcome() knows, and a repeat throws and writes nothing", async (world) => {
      const fence = await leased(world);
      const store = losing(world.store, "completeWith", "drop reply");
      const attempt = (value: string): Promise<void> =>
        store.completeWith(
          fence,
          async (tx) => {
            await world.writeInBody(tx, "letter", value);
            return null;
          },
          OPTIONS,
        );
      await assert.rejects(attempt("first"), UnknownOutcomeError);
      assert.deepEqual(await store.outcome(fence, OPTIONS), { outcome: "settled", operation: "complete" });
      await assert.rejects(attempt("second"), AlreadySettledError);
      assert.equal(await world.read("letter"), "first");
    }),

    test("C11 after a completeWith whose request was lost, outcome() says that the fence is current", async (world) => {
      const fence = await leased(world);
      const store = losing(world.store, "completeWith", "drop request");
      await assert.rejects(
        store.completeWith(fence, async () => null, OPTIONS),
        UnknownOutcomeError,
      );
      assert.deepEqual(await store.outcome(fence, OPTIONS), { outcome: "current" });
      await store.completeWith(fence, async () => '"sent"', OPTIONS);
      assert.equal((await row(world, fence.jobId)).result, '"sent"');
    }),

    test("C13 a cancel that is repeated is `already`", async (world) => {
      const fence = await leased(world);
      const store = losing(world.store, "cancel", "drop reply");
      await assert.rejects(store.cancel([fence.jobId], OPTIONS), UnknownOutcomeError);
      assert.deepEqual(await store.cancel([fence.jobId], OPTIONS), [{ outcome: "already", state: "leased" }]);
    }),

    test("C13 a revoke that is repeated takes nothing from a second owner that nobody meant", async (world) => {
      const fence = await leased(world);
      const store = losing(world.store, "revoke", "drop reply");
      await assert.rejects(store.revoke([fence.jobId], OPTIONS), UnknownOutcomeError);
      assertHas((await store.revoke([fence.jobId], OPTIONS))[0], { outcome: "conflict", state: "ready" });
      assert.equal((await row(world, fence.jobId)).generation, 2);
    }),

    test("a release of a named lease is `already` when it is repeated, and stale once another holds it", async (world) => {
      const acquire = async (): Promise<{ readonly name: string } & Omit<Fence, "jobId">> => {
        const owner = newOwner();
        const answer = await world.store.acquire({ name: "report", owner, leaseMs: LEASE_MS }, OPTIONS);
        assert.equal(answer.outcome, "applied");
        return {
          name: "report",
          owner,
          generation: answer.outcome === "applied" ? answer.token.generation : gen(0),
        };
      };
      const held = await acquire();
      const store = losing(world.store, "release", "drop reply");
      await assert.rejects(store.release([held], OPTIONS), UnknownOutcomeError);
      assert.deepEqual(await store.release([held], OPTIONS), [{ outcome: "already" }]);
      const next = await acquire();
      assertHas((await store.release([held], OPTIONS))[0], {
        outcome: "stale",
        generation: 2,
        owner: next.owner,
      });
    }),

    test("a store that cannot be reached is busy, unusable or unknown, and a lease is never called lost", async (world) => {
      const fence = await leased(world);
      await enqueued(world); // so that a claim has something to take
      const store = await required(world.unreachable, "unreachable")();
      const soon = { timeoutMs: 50 };
      const calls: Record<string, () => Promise<unknown>> = {
        enqueue: () => store.enqueue([newJob()], soon),
        claim: () => store.claim({ owner: newOwner(), queues: ["letters"], limit: 1, takeover: true }, soon),
        renew: () => store.renew([fence], soon),
        settle: () => store.settle([complete(fence)], soon),
        write: () => store.write([{ fence, log: "?" }], soon),
        completeWith: () => store.completeWith(fence, async () => null, soon),
        cancel: () => store.cancel([fence.jobId], soon),
        revoke: () => store.revoke([fence.jobId], soon),
        acquire: () => store.acquire({ name: "report", owner: newOwner(), leaseMs: LEASE_MS }, soon),
      };
      for (const [name, call] of Object.entries(calls)) {
        await assert.rejects(call(), (error) => {
          const kinds = [UnknownOutcomeError, StoreBusyError, StoreUnusableError];
          assert.ok(
            kinds.some((kind) => error instanceof kind),
            `${name}: ${String(error)}`,
          );
          return true;
        });
      }
    }),
  ],
};
