/** Outcomes of a fenced operation, in their order of precedence (C9), and what explains a refusal. */

import type { Fence, Generation } from "./identity.ts";
import {
  type EndReason,
  holdsResource,
  isEnded,
  type JobRecord,
  type JobState,
  type SettleOperation,
} from "./job.ts";
import type { NamedLease } from "./named-lease.ts";

/** Why a fence does not match, for people and for W3's reasons. The generations alone decide; this only explains. */
export type StaleReason =
  | "reclaimed" // somebody claimed it after the lease had lapsed
  | "revoked"
  | "retried" // an operator set the ended job to ready
  | "expired" // C12 ended it
  | "cancelled"
  | "healed" // C19
  | "settled" // this fence gave the run back itself
  | "ended" // this fence, or the caller's own transaction, ended it in another way
  | "other_owner" // the same generation was given to another owner
  | "resource" // the resource's lease is no longer this run's
  | "history" // the lease was granted before the store lost writes
  | "ahead"; // the fence is newer than the record: the store has lost history

export interface Stale {
  readonly outcome: "stale";
  /** The present generation of the job. */
  readonly generation: Generation;
  readonly state: JobState;
  readonly endReason: EndReason | null;
  readonly reason: StaleReason;
}

/** The fence had done just this before; nothing was written now. */
export interface Already {
  readonly outcome: "already";
}

/** No record of the job, live or in history: never enqueued, deleted or pruned. */
export interface Gone {
  readonly outcome: "gone";
}

/** Somebody else holds the record at this moment: nothing was applied, ask again. */
export interface Busy {
  readonly outcome: "busy";
}

export type Refusal = Already | Stale | Gone;

const RAISED: Record<NonNullable<JobRecord["raisedBy"]>, StaleReason> = {
  claim: "reclaimed",
  revoke: "revoked",
  retry: "retried",
  expire: "expired",
  cancel: "cancelled",
  heal: "healed",
};

/** Whether `fence` is the job's current owner, whatever the clock says (the condition of C5 to C8). */
export function isCurrent(
  job: JobRecord,
  fence: Fence,
  epochStart: Generation,
  lease: NamedLease | undefined,
): boolean {
  return (
    job.state === "leased" &&
    job.owner === fence.owner &&
    job.generation === fence.generation &&
    job.generation > epochStart &&
    holdsResource(job, lease)
  );
}

/**
 * Explains why an operation was not applied (C9). To be asked only with a record read *after* the write was refused.
 * `operation` is undefined for what is not a settling, which is therefore never `already`.
 */
export function refusal(
  job: JobRecord | undefined,
  fence: Fence,
  operation: SettleOperation | undefined,
  epochStart: Generation,
): Refusal {
  if (job === undefined) return { outcome: "gone" };
  const last = job.settled;
  if (
    operation !== undefined &&
    last?.operation === operation &&
    last.owner === fence.owner &&
    last.generation === fence.generation
  ) {
    return { outcome: "already" };
  }
  const { generation, state, endReason } = job;
  return { outcome: "stale", generation, state, endReason, reason: staleReason(job, fence, epochStart) };
}

function staleReason(job: JobRecord, fence: Fence, epochStart: Generation): StaleReason {
  if (fence.generation > job.generation) return "ahead";
  if (fence.generation < job.generation) return job.raisedBy === null ? "reclaimed" : RAISED[job.raisedBy];
  if (job.owner !== null && job.owner !== fence.owner) return "other_owner";
  if (job.settled?.generation === fence.generation && job.settled.owner !== fence.owner) return "other_owner";
  if (isEnded(job)) return "ended";
  if (job.owner === null) return job.raisedBy === "heal" ? "healed" : "settled";
  return fence.generation <= epochStart ? "history" : "resource";
}
