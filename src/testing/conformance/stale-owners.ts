/** The heart of the suite: whoever is not the current owner changes nothing, and is told so. */

import assert from "node:assert/strict";
import { AlreadySettledError, StaleLeaseError } from "../../errors.ts";
import type { Fence, Generation, Owner } from "../../protocol/identity.ts";
import type { StaleReason } from "../../protocol/outcome.ts";
import type { Store } from "../../stores/store.ts";
import {
  assertHas,
  claim,
  claimOne,
  complete,
  enqueued,
  fail,
  fenceOf,
  gen,
  journalOf,
  LAPSE_MS,
  leased,
  newOwner,
  OPTIONS,
  reclaimed,
  release,
  row,
  settled,
} from "./fixtures.ts";
import { type Chapter, type ConformanceTest, test, type TestWorld } from "./harness.ts";

interface Answer {
  readonly outcome: string;
  readonly generation?: Generation;
  readonly reason?: StaleReason;
}

/** Every write that a run can make, by the name that the journal gives it. */
const WRITES: Readonly<Record<string, (store: Store, fence: Fence) => Promise<readonly Answer[]>>> = {
  renew: (store, fence) => store.renew([fence], OPTIONS),
  complete: (store, fence) => store.settle([complete(fence, '"late"')], OPTIONS),
  fail: (store, fence) => store.settle([fail(fence)], OPTIONS),
  "fail for good": (store, fence) => store.settle([fail(fence, "final")], OPTIONS),
  release: (store, fence) => store.settle([release(fence)], OPTIONS),
  progress: (store, fence) => store.write([{ fence, progress: '"late"' }], OPTIONS),
  log: (store, fence) => store.write([{ fence, log: "late" }], OPTIONS),
  heal: async (store, fence) => [await store.heal(fence, gen(100), OPTIONS)],
};

/** Makes every write with `fence`; each must be stale with this reason and generation, and leave the row as it was. */
async function assertRefused(world: TestWorld, fence: Fence, current: number, reason: StaleReason): Promise<void> {
  const before = await row(world, fence.jobId);
  for (const [name, write] of Object.entries(WRITES)) {
    const [answer] = await write(world.store, fence);
    assert.equal(answer?.outcome, "stale", `${name} is ${answer?.outcome}`);
    assert.deepEqual([answer.generation, answer.reason], [current, reason], name);
    assert.deepEqual(await row(world, fence.jobId), before, `${name} changed nothing`);
  }
  const late = world.store.completeWith(fence, async () => '"late"', OPTIONS);
  await assert.rejects(late, (error) => {
    assert.ok(error instanceof StaleLeaseError, String(error));
    assert.deepEqual([error.generation, error.current, error.reason], [fence.generation, current, reason]);
    return true;
  });
  assert.deepEqual(await row(world, fence.jobId), before, "completeWith changed nothing");
}

const afterReclaim: readonly ConformanceTest[] = Object.entries(WRITES).map(([name, write]) =>
  test(`${name} by an owner whose job was reclaimed is stale and names the current generation`, async (world) => {
    const { a, b } = await reclaimed(world);
    const before = await row(world, a.jobId);
    assertHas((await write(world.store, a))[0], { outcome: "stale", generation: 2, state: "leased", reason: "reclaimed" });
    assert.deepEqual(await row(world, a.jobId), before);
    await settled(world, complete(b));
  }),
);

export const staleOwners: Chapter = {
  name: "stale owners",
  tests: [
    ...afterReclaim,

    test("C10 completeWith by an owner whose job was reclaimed throws, and its writes are rolled back", async (world) => {
      const { a, b } = await reclaimed(world);
      const late = world.store.completeWith(
        a,
        async (tx) => {
          await world.writeInBody(tx, "letter", "late");
          return null;
        },
        OPTIONS,
      );
      await assert.rejects(late, StaleLeaseError);
      assert.equal(await world.read("letter"), undefined);
      await settled(world, complete(b));
    }),

    test("the same process reclaims its own expired job, and its old handle is refused everything", async (world) => {
      const owner = newOwner();
      const { a, b } = await reclaimed(world, {}, owner, owner);
      assert.deepEqual([a.generation, b.generation], [1, 2]);
      await assertRefused(world, a, 2, "reclaimed");
      await settled(world, complete(b));
    }),

    test("the current generation under another owner's name is refused everything", async (world) => {
      const fence = await leased(world);
      await assertRefused(world, { ...fence, owner: newOwner() }, 1, "other_owner");
      await settled(world, complete(fence));
    }),

    test("a worker restarted under the same name is another owner", async (world) => {
      // An owner is random per instance: the name that an operator gave the worker is no part of it.
      const before = await leased(world, {}, "worker-1 q7XkZ" as Owner);
      const restarted = { ...before, owner: "worker-1 b2MfT" as Owner };
      await assertRefused(world, restarted, 1, "other_owner");
      await settled(world, complete(before));
    }),

    test("owners are compared exactly: neither case nor blanks nor patterns match", async (world) => {
      const fence = await leased(world, {}, "Owner-é1" as Owner);
      for (const other of ["owner-é1", "OWNER-É1", "Owner-é1 ", " Owner-é1", "Owner-e\u03011", "Owner-%", "*", "Owner-é_"]) {
        const answers = await world.store.settle([complete({ ...fence, owner: other as Owner })], OPTIONS);
        assertHas(answers[0], { outcome: "stale", reason: "other_owner" });
      }
      await settled(world, complete(fence));
    }),

    test("no magic fence opens a job that nobody holds", async (world) => {
      const jobId = await enqueued(world);
      const owners = ["", "null", "nobody", "*", "%", "' or 1=1 --", "undefined", "0"];
      for (const generation of [0, 1, Number.MAX_SAFE_INTEGER]) {
        for (const owner of owners) {
          const fence = { jobId, owner: owner as Owner, generation: gen(generation) };
          for (const [name, write] of Object.entries(WRITES)) {
            assert.equal((await write(world.store, fence))[0]?.outcome, "stale", `${name} by ${owner}:${generation}`);
          }
        }
      }
      assertHas(await row(world, jobId), { state: "ready", generation: 0, settled: null, progress: null });
    }),

    test("no magic fence opens a leased job", async (world) => {
      const fence = await leased(world);
      for (const owner of ["", "null", "nobody", "*", "%", "' or 1=1 --"] as Owner[]) {
        await assertRefused(world, { ...fence, owner }, 1, "other_owner");
      }
      await assertRefused(world, { ...fence, generation: gen(0) }, 1, "reclaimed");
      await assertRefused(world, { ...fence, generation: gen(Number.MAX_SAFE_INTEGER) }, 1, "ahead");
      await settled(world, complete(fence));
    }),

    test("a fence newer than the record tells that the store has lost history", async (world) => {
      const fence = await leased(world);
      await assertRefused(world, { ...fence, generation: gen(7) }, 1, "ahead");
    }),

    test("a stale renewal does not extend the new owner's lease", async (world) => {
      const { a, b } = await reclaimed(world);
      await world.lapse(b.jobId, 50_000);
      const { leaseUntilMs } = await row(world, b.jobId);
      assertHas((await world.store.renew([a], OPTIONS))[0], { outcome: "stale" });
      assert.equal((await row(world, b.jobId)).leaseUntilMs, leaseUntilMs);
    }),

    test("a stale renewal does not revive the new owner's lapsed lease", async (world) => {
      const { a, b } = await reclaimed(world);
      await world.lapse(b.jobId, LAPSE_MS);
      assertHas((await world.store.renew([a], OPTIONS))[0], { outcome: "stale", generation: 2 });
      assertHas((await claimOne(world, newOwner())).job, { generation: 3 });
    }),

    test("in a batch of renewals a stale member neither poisons nor drops the others", async (world) => {
      const fine = [await leased(world), await leased(world)];
      for (const { jobId } of fine) await world.lapse(jobId, 60_000);
      const { a } = await reclaimed(world, { queue: "parcels" });
      const answers = await world.store.renew([fine[0]!, a, fine[1]!], OPTIONS);
      assert.deepEqual(
        answers.map(({ outcome }) => outcome),
        ["applied", "stale", "applied"],
      );
    }),

    test("in a batch of settlings a stale member neither poisons nor drops the others", async (world) => {
      const { a, b } = await reclaimed(world, { queue: "parcels" });
      const fine = [await leased(world), await leased(world)];
      const answers = await world.store.settle([complete(fine[0]!), complete(a), fail(fine[1]!), complete(b)], OPTIONS);
      assert.deepEqual(
        answers.map(({ outcome }) => outcome),
        ["applied", "stale", "applied", "applied"],
      );
      assert.equal((await row(world, fine[0]!.jobId)).state, "completed");
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

    test("a revoke raises the generation, and the old owner is stale", async (world) => {
      const fence = await leased(world);
      await world.store.revoke([fence.jobId], OPTIONS);
      await assertRefused(world, fence, 2, "revoked");
    }),

    test("an operator's retry raises the generation, and no fence from before can write", async (world) => {
      const fence = await leased(world);
      await settled(world, fail(fence, "final"));
      await world.store.retry([fence.jobId], false, OPTIONS);
      const before = await row(world, fence.jobId);
      assert.equal(before.generation, 2);
      for (const [name, write] of Object.entries(WRITES)) {
        // The one thing that this fence did is answered as what it is: done before (C9).
        const expected = name.startsWith("fail") ? "already" : "stale";
        assert.equal((await write(world.store, fence))[0]?.outcome, expected, name);
      }
      assert.deepEqual(await row(world, fence.jobId), before);
    }),

    test("cancel and then retry raises the generation over that of the leased run", async (world) => {
      const fence = await leased(world);
      await world.store.cancel([fence.jobId], OPTIONS);
      await world.store.revoke([fence.jobId], OPTIONS);
      assert.equal((await row(world, fence.jobId)).state, "cancelled");
      await world.store.retry([fence.jobId], false, OPTIONS);
      await assertRefused(world, fence, 3, "retried");
      assertHas((await claimOne(world, newOwner())).job, { generation: 4 });
    }),

    test("a job that ended and was cancelled while ready, then retried, raises the generation", async (world) => {
      const fence = await leased(world);
      await settled(world, release(fence));
      await world.store.cancel([fence.jobId], OPTIONS);
      await world.store.retry([fence.jobId], false, OPTIONS);
      const next = await claimOne(world, newOwner());
      assert.equal(next.job.generation, 3);
      assertHas((await world.store.settle([complete(fence)], OPTIONS))[0], { outcome: "stale", generation: 3 });
    }),

    test("a lease that lapsed with a pending cancel is over for its owner", async (world) => {
      const fence = await leased(world);
      await world.store.cancel([fence.jobId], OPTIONS);
      await world.lapse(fence.jobId, LAPSE_MS);
      await claim(world, newOwner());
      await assertRefused(world, fence, 2, "cancelled");
    }),

    test("once the successor has completed, the old owner learns how the job ended", async (world) => {
      const { a, b } = await reclaimed(world);
      await settled(world, complete(b, '"B"'));
      assertHas((await world.store.settle([complete(a, '"A"')], OPTIONS))[0], {
        outcome: "stale",
        generation: 2,
        state: "completed",
        endReason: "completed",
      });
      assertHas(await row(world, a.jobId), { result: '"B"', settled: { owner: b.owner, generation: 2, operation: "complete" } });
    }),

    test("a release from before does not give away the successor's job or attempt", async (world) => {
      const { a, b } = await reclaimed(world);
      assertHas((await world.store.settle([release(a)], OPTIONS))[0], { outcome: "stale" });
      assertHas(await row(world, b.jobId), { state: "leased", owner: b.owner, attempt: 2 });
    }),

    test("a deleted job's owner finds it gone", async (world) => {
      const fence = await leased(world);
      await settled(world, release(fence));
      await world.store.delete([fence.jobId], OPTIONS);
      for (const [name, write] of Object.entries(WRITES)) {
        assert.equal((await write(world.store, fence))[0]?.outcome, "gone", name);
      }
    }),

    test("a lease granted before the floor was raised is stale from then on", async (world) => {
      const fence = await leased(world);
      await world.store.raiseFloor(OPTIONS);
      await assertRefused(world, fence, 1, "history");
    }),

    test("a refusal is loud and current also when the reclaim commits while the call waits", async (world) => {
      const there = await world.another();
      for (const name of Object.keys(WRITES)) {
        const queue = `race ${name}`;
        const fence = await leased(world, { queue });
        await world.lapse(fence.jobId, LAPSE_MS);
        const [claimed, answers] = await Promise.all([
          claim({ store: there }, newOwner(), { queues: [queue] }),
          WRITES[name]!(world.store, fence),
        ]);
        const [answer] = answers;
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
      assertHas(late[0], { outcome: "stale", generation: 2, state: "completed" });
    }),

    test("the journal keeps each refusal with both generations and its operation", async (world) => {
      const { a } = await reclaimed(world);
      for (const name of ["renew", "complete", "fail", "release", "progress", "heal"]) await WRITES[name]!(world.store, a);
      const refused = (await journalOf(world, a.jobId)).filter(({ kind }) => kind === "refused");
      for (const operation of ["renew", "complete", "fail", "release", "heal"]) {
        const entry = refused.find((candidate) => candidate.operation === operation);
        assertHas(entry, { owner: a.owner, generation: 1, current: 2 });
      }
      assert.ok(refused.length >= 6, `also the refused write is noted: ${refused.map(({ operation }) => operation)}`);
    }),

    test("the journal counts an equal refusal instead of repeating it", async (world) => {
      const { a } = await reclaimed(world);
      for (const _ of [1, 2, 3]) await WRITES["renew"]!(world.store, a);
      const refused = (await journalOf(world, a.jobId)).filter(({ kind }) => kind === "refused");
      assert.equal(refused.length, 1);
      assert.equal(refused[0]?.count, 3);
    }),

    test("the worked example: generation 7 pauses, 8 takes over and completes, and 7 is refused each time", async (world) => {
      const jobId = await enqueued(world, { maxAttempts: 20 });
      for (let n = 1; n < 7; n += 1) await settled(world, release(fenceOf(await claimOne(world, newOwner()))));
      const a = fenceOf(await claimOne(world, newOwner()));
      await world.lapse(jobId, LAPSE_MS);
      const b = fenceOf(await claimOne(world, newOwner()));
      assert.deepEqual([a.generation, b.generation], [7, 8]);
      await assertRefused(world, a, 8, "reclaimed");
      await settled(world, complete(b));
      assertHas((await world.store.settle([complete(a)], OPTIONS))[0], { outcome: "stale", generation: 8 });
      await assert.rejects(
        world.store.completeWith(b, async () => null, OPTIONS),
        AlreadySettledError,
      );
      const entries = await journalOf(world, jobId);
      assert.equal(entries.filter(({ kind }) => kind === "completed").length, 1);
    }),
  ],
};
