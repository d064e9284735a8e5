/** C10: the caller's writes and the completion in one short transaction, refused as a whole when the fence is stale. */

import {
  AlreadySettledError,
  GoneError,
  InvalidTransactionError,
  StaleLeaseError,
  StoreBusyError,
} from "../../errors.ts";
import { type Fence, jobLine } from "../../protocol/identity.ts";
import { isCurrent, type Refusal, refusal } from "../../protocol/outcome.ts";
import type { Tx } from "../store.ts";
import { type Completed, completeWhole } from "./complete.ts";
import type { Call, Connections, OpenTransaction } from "./connections.ts";
import { noteRefusals } from "./journal.ts";
import { readMoment } from "./moment.ts";
import { lockJob, lockLease } from "./transition.ts";

/** The body's view of the transaction; of no use once the body is over. */
class BodyTx implements Tx {
  readonly #transaction: OpenTransaction;
  isOpen = true;

  constructor(transaction: OpenTransaction) {
    this.#transaction = transaction;
  }

  async query<Row>(text: string, params: readonly unknown[] = []): Promise<{ rows: Row[] }> {
    if (!this.isOpen) {
      throw new InvalidTransactionError("This transaction is over.", {
        next: "Use tx only inside the body.",
      });
    }
    return (await this.#transaction.foreign(text, params)) as { rows: Row[] };
  }
}

/** Every statement of ours waits for the row, so two bodies for one fence come one after the other. */
export async function completeWith(
  connections: Connections,
  call: Call,
  fence: Fence,
  body: (tx: Tx) => Promise<string | null>,
): Promise<Completed> {
  try {
    return await connections.transaction(call, (transaction) => completeIn(transaction, call, fence, body));
  } catch (error) {
    if (error instanceof StaleLeaseError) await noteRefused(connections, call, fence, error);
    throw error;
  }
}

async function completeIn(
  transaction: OpenTransaction,
  call: Call,
  fence: Fence,
  body: (tx: Tx) => Promise<string | null>,
): Promise<Completed> {
  const job = await lockJob(transaction, fence.jobId);
  const lease = await lockLease(transaction, job?.resource ?? null);
  const { epochStart } = await readMoment(transaction);
  if (job === undefined || !isCurrent(job, fence, epochStart, lease)) {
    throw errorOf(fence, refusal(job, fence, "complete", epochStart));
  }
  const tx = new BodyTx(transaction);
  let result: string | null;
  try {
    result = await body(tx);
  } finally {
    tx.isOpen = false;
  }
  // The predicate stands in the writing statement as well: the body may have written anything.
  const completed = await completeWhole(transaction, [{ operation: "complete", fence, result }]);
  const own = completed.get(fence.jobId);
  if (own === undefined) throw new StoreBusyError(call.operation, 0);
  return own;
}

/** Outside the transaction, so that the journal keeps what was refused. */
async function noteRefused(
  connections: Connections,
  call: Call,
  { jobId, owner, generation }: Fence,
  { current }: StaleLeaseError,
): Promise<void> {
  await noteRefusals(connections.on(call), [
    { line: jobLine(jobId), owner, generation, current, operation: "complete" },
  ]);
}

function errorOf(fence: Fence, refused: Refusal): Error {
  if (refused.outcome === "already") return new AlreadySettledError(fence, "complete");
  if (refused.outcome === "gone") return new GoneError(`Job ${fence.jobId}`);
  const token = { line: jobLine(fence.jobId), generation: fence.generation };
  return new StaleLeaseError(token, refused.generation, refused.reason, "complete");
}
