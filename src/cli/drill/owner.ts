/** One run of the drill's job, in a worker process: what its owner does, before the fault and after it. */

import type { World } from "../../clock/world.ts";
import type { Lease, RunContext } from "../../index.ts";
import type { Fence } from "../../protocol/identity.ts";
import type { Busy, Refusal } from "../../protocol/outcome.ts";
import type { Store } from "../../stores/store.ts";
import { CALL } from "../client.ts";
import { LEAVES_A_LATE_OWNER } from "./faults.ts";
import type { FromWorker, Part, StoreAnswer, WriteAnswer } from "./messages.ts";
import type { Target } from "./target.ts";

export interface OwnerTools {
  /** The store itself, not the worker's view of it. */
  readonly store: Store;
  readonly target: Target;
  readonly world: World;
  tell(message: FromWorker): Promise<void>;
  /** Resolves at the next word of the drill's. */
  told(): Promise<void>;
}

export async function own(context: RunContext, part: Part, tools: OwnerTools): Promise<string> {
  const { job, lease } = context;
  const { previous } = job;
  await tools.tell({
    kind: "claimed",
    generation: lease.token.generation,
    ...(previous === undefined
      ? {}
      : { previous: { generation: previous.generation, endedAgoMs: previous.endedAgoMs } }),
  });
  if (part.fault !== "none" && LEAVES_A_LATE_OWNER.has(part.fault)) await actLate(context, part, tools);
  else await act(context, part, tools);
  return resultOf(lease.token.generation);
}

/** Tells in the job's result who has completed it. */
export function resultOf(generation: number): string {
  return `generation ${generation}`;
}

async function act(context: RunContext, part: Part, tools: OwnerTools): Promise<void> {
  const write = async (): Promise<void> =>
    tools.tell({ kind: "wrote", answer: await written(plain(context, context.lease), tools.target) });
  await write();
  if (part.waits) await tools.told();
  // As if the answer to the first had been lost.
  if (part.fault === "lost-reply") await write();
}

async function actLate(context: RunContext, part: Part, tools: OwnerTools): Promise<void> {
  const { store, target, world } = tools;
  const { lease, job } = context;
  const fence: Fence = { jobId: job.id, owner: lease.token.owner, generation: lease.token.generation };
  await world.timers.sleep(part.delayMs);
  const beganMs = world.clock.monotonicMs();
  lease.assertTrusted(); // the fault strikes here, behind the last look at the clocks
  if (part.fault === "cut-off") await tools.told();
  const awayMs = Math.round(world.clock.monotonicMs() - beganMs);
  const write = await written(unaware(context), target);
  const renewal = await answered(() => store.renew([fence], CALL));
  const result = JSON.stringify(resultOf(fence.generation));
  const completion = await answered(() => store.settle([{ operation: "complete", fence, result }], CALL));
  await tools.tell({ kind: "late", awayMs, write, renewal, completion });
}

async function written(context: RunContext, target: Target): Promise<WriteAnswer> {
  try {
    await target.write(context);
    return { outcome: "answered" };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { outcome: target.isRefusal(error) ? "refused" : "failed", message };
  }
}

async function answered(
  ask: () => Promise<readonly ({ readonly outcome: "applied" } | Refusal | Busy)[]>,
): Promise<StoreAnswer> {
  for (;;) {
    const [answer] = await ask();
    if (answer === undefined) return { outcome: "none" };
    if (answer.outcome === "busy") continue; // somebody has locked the row at this moment: not an answer (C9)
    if (answer.outcome !== "stale") return { outcome: answer.outcome };
    return { outcome: "stale", current: answer.generation, reason: answer.reason };
  }
}

/**
 * The context of an owner who has looked at its clocks before the fault, and looks no more. With a lease that asks them
 * again the kits would not send the late write, and a drill of their destination would see nothing.
 */
function unaware(context: RunContext): RunContext {
  const { token, effectScope } = context.lease;
  return plain(context, {
    token,
    effectScope,
    state: "held",
    remainingMs: () => 1,
    signal: new AbortController().signal,
    assertTrusted() {},
  });
}

/** As an object that can be spread: whoever calls a handler of his own gives it another input. */
function plain({ input, job, progress, log, step }: RunContext, lease: Lease): RunContext {
  return { input, job, lease, signal: lease.signal, progress, log, step };
}
