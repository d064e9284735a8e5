import assert from "node:assert/strict";
import { StaleLeaseError } from "../../errors.ts";
import type { Fence, Generation } from "../../protocol/identity.ts";
import type { StaleReason } from "../../protocol/outcome.ts";
import type { Store } from "../../stores/store.ts";
import { complete, fail, gen, OPTIONS, release, row } from "./fixtures.ts";
import type { TestWorld } from "./harness.ts";

export interface Answer {
  readonly outcome: string;
  readonly generation?: Generation;
  readonly reason?: StaleReason;
}

export type WriteName =
  | "renew"
  | "complete"
  | "fail"
  | "fail for good"
  | "release"
  | "progress"
  | "log"
  | "step"
  | "heal";

type Write = (store: Store, fence: Fence) => Promise<readonly Answer[]>;

/** Every write that a run can make, by the name that the journal gives it. */
export const WRITES: Readonly<Record<WriteName, Write>> = {
  renew: (store, fence) => store.renew([fence], OPTIONS),
  complete: (store, fence) => store.settle([complete(fence, '"late"')], OPTIONS),
  fail: (store, fence) => store.settle([fail(fence)], OPTIONS),
  "fail for good": (store, fence) => store.settle([fail(fence, "final")], OPTIONS),
  release: (store, fence) => store.settle([release(fence)], OPTIONS),
  progress: (store, fence) => store.write([{ fence, progress: '"late"' }], OPTIONS),
  log: (store, fence) => store.write([{ fence, log: "late" }], OPTIONS),
  step: (store, fence) =>
    store.write([{ fence, step: "late", change: { state: "done", result: '"late"' } }], OPTIONS),
  heal: async (store, fence) => [await store.heal(fence, gen(100), OPTIONS)],
};

/** Asks again while another call has the row at that moment: `busy` says that nothing was applied. */
export async function knownAnswer(write: Write, store: Store, fence: Fence): Promise<Answer | undefined> {
  for (;;) {
    const [answer] = await write(store, fence);
    if (answer?.outcome !== "busy") return answer;
  }
}

/** Makes every write with `fence`; each must be stale with this reason and generation, and leave the row as it was. */
export async function assertRefused(
  world: TestWorld,
  fence: Fence,
  current: number,
  reason: StaleReason,
): Promise<void> {
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
