import {
  AlreadySettledError,
  GoneError,
  StaleLeaseError,
  StoreBusyError,
  UnknownOutcomeError,
} from "../errors.ts";
import { jobLine } from "../protocol/identity.ts";
import type { Refusal } from "../protocol/outcome.ts";
import type { Tx } from "../stores/store.ts";
import type { Run } from "./run.ts";
import { isAskedAgain } from "./while-trusted.ts";

const AGAIN_MS = 20;

/** `job.complete`: see `RunningJob.complete` for what it promises. */
export function completeRun<Result>(run: Run, body: (tx: Tx) => Promise<Result> | Result): Promise<Result> {
  if (run.completed || run.completing !== undefined || run.phase !== "running") {
    return Promise.reject(new AlreadySettledError(run.fence, "job.complete"));
  }
  const completing = complete(run, body);
  run.completing = completing;
  return completing.finally(() => {
    run.completing = undefined;
  });
}

/**
 * Repeats the whole while the store is busy or silent (C11), for as long as the lease is trusted. What an answer that
 * got lost had done is asked by `outcome`, never guessed.
 */
async function complete<Result>(run: Run, body: (tx: Tx) => Promise<Result> | Result): Promise<Result> {
  const { world, store, callTimeoutMs: timeoutMs } = run.host;
  let result!: Result;
  const writes = async (tx: Tx): Promise<string | null> => {
    result = await body(tx);
    return run.resultJson(result);
  };
  let unknown: UnknownOutcomeError | undefined;
  for (; ; await world.timers.sleep(AGAIN_MS * (1 + world.random.next()))) {
    try {
      if (unknown !== undefined && (await wasSettled(run))) break;
      unknown = undefined;
      world.reached("before-complete-send");
      await store.completeWith(run.fence, writes, { timeoutMs });
      world.reached("after-complete-reply");
      break;
    } catch (error) {
      if (error instanceof UnknownOutcomeError) unknown ??= error;
      const again = error instanceof UnknownOutcomeError || error instanceof StoreBusyError;
      if (isAskedAgain(run, error)) continue;
      // A later call that certainly wrote nothing says nothing of the one without an answer.
      if (again && unknown !== undefined) throw unknown;
      if (error instanceof StaleLeaseError || error instanceof GoneError) await markRefused(run);
      throw error;
    }
  }
  run.markCompleted();
  return result;
}

async function wasSettled(run: Run): Promise<boolean> {
  const found = await run.host.store.outcome(run.fence, { timeoutMs: run.host.callTimeoutMs });
  if (found.outcome === "settled" && found.operation === "complete") return true;
  if (found.outcome === "current") return false;
  if (found.outcome === "gone") throw new GoneError(`Job ${run.fence.jobId}`);
  const { generation, reason } =
    found.outcome === "stale" ? found : ({ generation: run.fence.generation, reason: "settled" } as const);
  throw new StaleLeaseError(
    { line: jobLine(run.fence.jobId), generation: run.fence.generation },
    generation,
    reason,
    "complete",
  );
}

/** The error tells the handler; the run itself needs the refusal, for its signal and event. */
async function markRefused(run: Run): Promise<void> {
  try {
    const found = await run.host.store.outcome(run.fence, { timeoutMs: run.host.callTimeoutMs });
    if (found.outcome === "stale" || found.outcome === "gone") run.refused(found as Refusal);
  } catch {
    // Then the next renewal finds out.
  }
}
