/** The heart of the suite: whoever is not the current owner changes nothing, and is told so. */

import assert from "node:assert/strict";
import { StaleLeaseError } from "../../errors.ts";
import type { Owner } from "../../protocol/identity.ts";
import {
  assertHas,
  claimOne,
  complete,
  enqueued,
  gen,
  LAPSE_MS,
  leased,
  newOwner,
  OPTIONS,
  reclaimed,
  release,
  row,
  settled,
} from "./fixtures.ts";
import { type Chapter, type ConformanceTest, test } from "./harness.ts";
import { staleAfterOperators } from "./stale-after-operators.ts";
import { staleInCompany } from "./stale-in-company.ts";
import { staleTold } from "./stale-told.ts";
import { assertRefused, WRITES } from "./stale-writes.ts";

const afterReclaim: readonly ConformanceTest[] = Object.entries(WRITES).map(([name, write]) =>
  test(`${name} by an owner whose job was reclaimed is stale and names the current generation`, async (world) => {
    const { a, b } = await reclaimed(world);
    const before = await row(world, a.jobId);
    assertHas((await write(world.store, a))[0], {
      outcome: "stale",
      generation: 2,
      state: "leased",
      reason: "reclaimed",
    });
    assert.deepEqual(await row(world, a.jobId), before);
    await settled(world, complete(b));
  }),
);

const strangers: readonly ConformanceTest[] = [
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
    for (const other of [
      "owner-é1",
      "OWNER-É1",
      "Owner-é1 ",
      " Owner-é1",
      "Owner-e\u03011",
      "Owner-%",
      "*",
      "Owner-é_",
    ]) {
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
          assert.equal(
            (await write(world.store, fence))[0]?.outcome,
            "stale",
            `${name} by ${owner}:${generation}`,
          );
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

  test("a release from before does not give away the successor's job or attempt", async (world) => {
    const { a, b } = await reclaimed(world);
    assertHas((await world.store.settle([release(a)], OPTIONS))[0], { outcome: "stale" });
    assertHas(await row(world, b.jobId), { state: "leased", owner: b.owner, attempt: 2 });
  }),
];

export const staleOwners: Chapter = {
  name: "stale owners",
  tests: [...afterReclaim, ...strangers, ...staleAfterOperators, ...staleInCompany, ...staleTold],
};
