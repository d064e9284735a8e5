import { AlreadySettledError, GoneError, type LeaseholdError, StaleLeaseError } from "../../errors.ts";
import { type Fence, jobLine } from "../../protocol/identity.ts";
import type { Refusal } from "../../protocol/outcome.ts";
import type { CallOptions, Tx } from "../store.ts";
import { noteRefusal } from "./journal.ts";
import { settleRun } from "./runs.ts";
import type { StateKeeper } from "./state-keeper.ts";

/** C10: the caller's writes and the completion, or neither. */
export async function completeWith(
  keeper: StateKeeper,
  fence: Fence,
  body: (tx: Tx) => Promise<string | null>,
  options: CallOptions,
): Promise<void> {
  const tx = await keeper.begin(options);
  try {
    const result = await body(tx);
    tx.assertOpen();
    const nowMs = keeper.nowMs();
    const answer = settleRun({ state: tx.draft, nowMs }, { operation: "complete", fence, result });
    if (answer.outcome === "applied") return await tx.commit();
    if (answer.outcome === "stale") {
      // In what is committed: the note of a refusal must outlive the draft.
      const at = { state: keeper.state, nowMs };
      noteRefusal(at, jobLine(fence.jobId), fence, answer.generation, "complete");
    }
    throw errorOf(answer, fence);
  } finally {
    await tx.rollback();
  }
}

function errorOf(answer: Refusal, fence: Fence): LeaseholdError {
  if (answer.outcome === "already") return new AlreadySettledError(fence, "complete");
  if (answer.outcome === "gone") return new GoneError(`Job ${fence.jobId}`);
  const token = { line: jobLine(fence.jobId), generation: fence.generation };
  return new StaleLeaseError(token, answer.generation, answer.reason, "complete");
}
