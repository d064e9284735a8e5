/** What a run writes while it holds its lease: C5 renewals, C6 to C8 settlings, progress and logs, C19. */

import type { HealAnswer } from "../../protocol/control.ts";
import { heal } from "../../protocol/control.ts";
import { type Fence, type Generation, jobLine } from "../../protocol/identity.ts";
import type { JobRecord, SettleOperation } from "../../protocol/job.ts";
import type { JournalKind } from "../../protocol/journal.ts";
import type { NamedLease } from "../../protocol/named-lease.ts";
import { isCurrent, type Refusal, refusal } from "../../protocol/outcome.ts";
import { type Renewed, renew } from "../../protocol/renew.ts";
import { type SettledAnswer, type Settlement, settle } from "../../protocol/settle.ts";
import type { StepConflict } from "../../protocol/step.ts";
import type { FenceOutcome, RunWrite, RunWritten } from "../store.ts";
import { operationOf } from "../write-names.ts";
import { noteJob, noteLease, noteRefusal } from "./journal.ts";
import { epochStartAt, floorAt, leaseOf, type Moment, putJob, putLease } from "./state.ts";
import { writeStepOf } from "./steps.ts";

interface Current {
  readonly job: JobRecord;
  readonly lease: NamedLease | undefined;
}

/** The job with its resource's lease when `fence` is its owner's, else why not; what was refused is noted. */
function current(
  at: Moment,
  fence: Fence,
  operation: string,
  settling?: SettleOperation,
): { readonly held: Current } | { readonly refused: Refusal } {
  const job = at.state.jobs.get(fence.jobId);
  const lease = job === undefined ? undefined : leaseOf(at, job);
  if (job !== undefined && isCurrent(job, fence, epochStartAt(at), lease)) return { held: { job, lease } };
  const refused = refusal(job, fence, settling, epochStartAt(at));
  if (refused.outcome === "stale")
    noteRefusal(at, jobLine(fence.jobId), fence, refused.generation, operation);
  return { refused };
}

export function renewRun(at: Moment, fence: Fence): Renewed | Refusal {
  const found = current(at, fence, "renew");
  if ("refused" in found) return found.refused;
  const { job, lease, answer } = renew(found.held.job, found.held.lease, at.nowMs);
  putJob(at, job);
  if (lease !== undefined) putLease(at, lease);
  return answer;
}

export function settleRun(at: Moment, settlement: Settlement): SettledAnswer | Refusal {
  const { fence, operation } = settlement;
  const found = current(at, fence, operation, operation);
  if ("refused" in found) return found.refused;
  const { job, lease, answer } = settle(found.held.job, found.held.lease, settlement, at.nowMs);
  putJob(at, job);
  noteJob(at, job, kindOf(operation, answer), fence, operation === "fail" ? settlement.error : null);
  if (lease !== undefined) {
    putLease(at, lease);
    noteLease(at, lease, "released", fence.owner);
  }
  return answer;
}

function kindOf(operation: SettleOperation, { state }: SettledAnswer): JournalKind {
  if (state !== "ready") return state as "completed" | "failed" | "cancelled";
  return operation === "fail" ? "retrying" : "released";
}

export function writeRun(at: Moment, write: RunWrite): RunWritten | StepConflict | Refusal {
  const found = current(at, write.fence, operationOf(write));
  if ("refused" in found) return found.refused;
  if ("step" in write) return writeStepOf(at, found.held.job, write);
  if ("progress" in write) putJob(at, { ...found.held.job, progress: write.progress });
  else noteJob(at, found.held.job, "log", write.fence, write.log);
  return { outcome: "applied" };
}

export function healRun(at: Moment, fence: Fence, mark: Generation): HealAnswer | Refusal {
  const found = current(at, fence, "heal");
  if ("refused" in found) return found.refused;
  const healed = heal(found.held.job, found.held.lease, mark, at.nowMs, at.state.floor.epoch, floorAt(at));
  if (healed.job !== undefined) {
    putJob(at, healed.job);
    noteJob(at, healed.job, "healed", fence);
    if (healed.job.state === "failed" || healed.job.state === "cancelled")
      noteJob(at, healed.job, healed.job.state);
  }
  if (healed.lease !== undefined) {
    putLease(at, healed.lease);
    noteLease(at, healed.lease, "healed", fence.owner);
  }
  return healed.answer;
}

/** C11: what became of a fence. Writes nothing, not even to the journal. */
export function outcomeOf(at: Moment, fence: Fence): FenceOutcome {
  const job = at.state.jobs.get(fence.jobId);
  const last = job?.settled;
  if (last?.owner === fence.owner && last.generation === fence.generation) {
    return { outcome: "settled", operation: last.operation };
  }
  if (job !== undefined && isCurrent(job, fence, epochStartAt(at), leaseOf(at, job)))
    return { outcome: "current" };
  return refusal(job, fence, undefined, epochStartAt(at)) as Exclude<
    Refusal,
    { readonly outcome: "already" }
  >;
}
