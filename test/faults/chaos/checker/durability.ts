/** I12: what was acknowledged is there at the end, but for what an asynchronous failover is allowed to lose. */

import { isEnded } from "../../../../src/protocol/job.ts";
import { answerOf, fenceKey } from "./calls.ts";
import type { Evidence } from "./evidence.ts";
import { isLost, isOfFailover, mayBeLost, mayHaveBeenOpen } from "./losses.ts";
import type { Broken } from "./verdict.ts";

export interface Durability {
  readonly broken: readonly Broken[];
  /** Lost, acknowledged, and of the expected kind. */
  readonly losses: number;
}

export function durability(evidence: Evidence): Durability {
  const { changes, changesByJob, finals, callsByOp, lost, faults } = evidence;
  const broken: Broken[] = [];
  let losses = 0;
  const ended = new Set(
    changes.flatMap(({ fence, operation }) =>
      fence === undefined || operation === "renew" ? [] : [`${operation} ${fenceKey(fence)}`],
    ),
  );
  for (const op of ["enqueue", "settle"] as const) {
    for (const call of callsByOp.get(op) ?? []) {
      const { told, reply } = answerOf(call);
      const { job, outcome = "complete" } = call.invoke;
      if (told !== "yes" || reply === undefined || job === undefined) continue;
      const isThere =
        op === "enqueue" ? changesByJob.has(job) : ended.has(`${outcome} ${fenceKey(call.invoke)}`);
      const isDeleted = op === "enqueue" && isThere && !finals.has(job) && !wasDeleted(evidence, job);
      if (isThere && !isDeleted) continue;
      if (mayBeLost(evidence, call, reply) && isLost(evidence, call)) losses += 1;
      else
        broken.push({ what: `I12: the ${op} of ${job} was acknowledged and is lost`, job, atMs: reply.atMs });
    }
  }
  for (const [job, { state }] of finals) {
    const own = changesByJob.get(job) ?? [];
    const end = own.findLast(({ operation }) => operation === "complete");
    if (
      end !== undefined &&
      !isEnded({ state }) &&
      !own.some(({ operation, seq }) => operation === "retry" && seq > end.seq)
    )
      broken.push({ what: `I12: job ${job} had ended and is ${state}`, job, seq: end.seq });
  }
  // What has gone must be younger than all that had been shipped before one of the failovers.
  for (const change of lost) {
    const { job, seq } = change;
    const atMs = evidence.time.monotonicMs(change.storeMs);
    if (atMs === undefined || faults.some((fault) => isOfFailover(fault, atMs))) continue;
    if (mayHaveBeenOpen(evidence, change, atMs)) continue;
    broken.push({ what: `I12: change ${seq} was lost though the standby had it`, job });
  }
  return { broken, losses };
}

function wasDeleted({ changesByJob }: Evidence, job: string): boolean {
  return changesByJob.get(job)?.at(-1)?.operation === "delete";
}
