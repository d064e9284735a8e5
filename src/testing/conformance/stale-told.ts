import assert from "node:assert/strict";
import { AlreadySettledError } from "../../errors.ts";
import {
  assertHas,
  claimOne,
  complete,
  enqueued,
  fenceOf,
  journalOf,
  LAPSE_MS,
  newOwner,
  OPTIONS,
  reclaimed,
  release,
  row,
  settled,
} from "./fixtures.ts";
import { type ConformanceTest, test } from "./harness.ts";
import { assertRefused, WRITES } from "./stale-writes.ts";

export const staleTold: readonly ConformanceTest[] = [
  test("once the successor has completed, the old owner learns how the job ended", async (world) => {
    const { a, b } = await reclaimed(world);
    await settled(world, complete(b, '"B"'));
    assertHas((await world.store.settle([complete(a, '"A"')], OPTIONS))[0], {
      outcome: "stale",
      generation: 2,
      state: "completed",
      endReason: "completed",
    });
    assertHas(await row(world, a.jobId), {
      result: '"B"',
      settled: { owner: b.owner, generation: 2, operation: "complete" },
    });
  }),

  test("the journal keeps each refusal with both generations and its operation", async (world) => {
    const { a } = await reclaimed(world);
    for (const name of ["renew", "complete", "fail", "release", "progress", "heal"] as const)
      await WRITES[name](world.store, a);
    const refused = (await journalOf(world, a.jobId)).filter(({ kind }) => kind === "refused");
    for (const operation of ["renew", "complete", "fail", "release", "heal"]) {
      const entry = refused.find((candidate) => candidate.operation === operation);
      assertHas(entry, { owner: a.owner, generation: 1, current: 2 });
    }
    assert.ok(
      refused.length >= 6,
      `also the refused write is noted: ${refused.map(({ operation }) => operation)}`,
    );
  }),

  test("the journal counts an equal refusal instead of repeating it", async (world) => {
    const { a } = await reclaimed(world);
    for (const _ of [1, 2, 3]) await WRITES.renew(world.store, a);
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
];
