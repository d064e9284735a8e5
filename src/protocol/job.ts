/** The record that every store keeps of a job (section 1), as the pure transitions see it. */

import type { FencingToken, Generation, JobId, Owner } from "./identity.ts";
import { jobLine, leaseLine } from "./identity.ts";
import type { NamedLease } from "./named-lease.ts";
import type { Backoff } from "./retry.ts";

/** "Expired" is not among them: it is `leased` with `leaseUntilMs` in the past. */
export type JobState = "ready" | "leased" | "completed" | "failed" | "cancelled";

export const JOB_STATES: readonly JobState[] = ["ready", "leased", "completed", "failed", "cancelled"];

/** Which operation last raised the generation; it explains a refusal to the owner before. */
export type RaisedBy = "claim" | "revoke" | "retry" | "expire" | "cancel" | "heal";

/** What an owner may do to end its run (C6 to C8). */
export type SettleOperation = "complete" | "fail" | "release";

/** The last settling by an owner (C9), kept in row and history. */
export interface Settled {
  readonly owner: Owner;
  readonly generation: Generation;
  readonly operation: SettleOperation;
}

/** How a job came to its end, beside the state itself. */
export type EndReason =
  | "completed"
  | "final" // the handler said that trying again is of no use
  | "attempts_exhausted"
  | "lease_expired" // C12
  | "mark" // C19, three times
  | "cancelled"
  | "replaced" // C17
  | "dependency"; // a job that it waited for did not complete

/** The last ms of the year 9999: later moments have no four-digit year, and stores disagree about them. */
export const LAST_MOMENT_MS: number = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export interface JobRecord {
  readonly jobId: JobId;
  /** Order of arrival, given by the store; never goes back. */
  readonly seq: number;
  readonly name: string;
  readonly queue: string;
  /** Lower runs first. */
  readonly priority: number;
  readonly state: JobState;
  /** Store time from which the job is due; null when it is due whatever the clock says. */
  readonly runAtMs: number | null;
  readonly owner: Owner | null;
  /** Store time at which the lease ends; null when there is no owner. */
  readonly leaseUntilMs: number | null;
  readonly leaseMs: number;
  readonly generation: Generation;
  readonly raisedBy: RaisedBy | null;
  /** Tries counted against `maxAttempts`; may be given back. Not an order: see `generation`. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Lapses in a row; a settling by an owner sets it to 0. */
  readonly expiredCount: number;
  /** Part of D4's key: a retry with `again` begins a new one. The first is 1. */
  readonly run: number;
  /** How often C19 has healed this job. */
  readonly heals: number;
  /** A pending cancel (C13). */
  readonly cancelRequested: boolean;
  /** What jobs share: while one is leased, no other with the same resource is claimed. */
  readonly resource: string | null;
  /** The generation of the resource's named lease that this run holds; null without a run or a resource. */
  readonly resourceGeneration: Generation | null;
  readonly uniqueKey: string | null;
  /** How many others a `ready` job waits for (follow-up, dependencies, a batch); 0 when none: only then is it claimed. */
  readonly blockedBy: number;
  /** Longest time one run may take, ms; null for no limit. */
  readonly maxRunMs: number | null;
  /** Null: the definition's. */
  readonly backoff: Backoff | null;
  /** JSON texts. */
  readonly input: string;
  readonly result: string | null;
  readonly error: string | null;
  readonly progress: string | null;
  readonly createdAtMs: number;
  /** When the present or last run was claimed. */
  readonly claimedAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly endReason: EndReason | null;
  readonly settled: Settled | null;
}

export function isEnded(job: Pick<JobRecord, "state">): boolean {
  return job.state !== "ready" && job.state !== "leased";
}

export function isExpired(lease: { readonly leaseUntilMs: number | null }, nowMs: number): boolean {
  return lease.leaseUntilMs !== null && lease.leaseUntilMs <= nowMs;
}

/** T5: a lease that would start in the future tells of a store clock that was set back. */
export function startsInFuture(
  lease: { readonly leaseUntilMs: number | null; readonly leaseMs: number },
  nowMs: number,
): boolean {
  const marginMs = Math.max(lease.leaseMs / 10, 50);
  return lease.leaseUntilMs !== null && lease.leaseUntilMs - lease.leaseMs > nowMs + marginMs;
}

/** A renewal's new end: one lease from now, never earlier than before, but for T5's re-basing. */
export function extendedUntilMs(
  lease: { readonly leaseUntilMs: number | null; readonly leaseMs: number },
  nowMs: number,
): number {
  const until = nowMs + lease.leaseMs;
  return startsInFuture(lease, nowMs) ? until : Math.max(until, lease.leaseUntilMs ?? until);
}

/** The token of a leased job: on the resource's line when the run holds one, else on its own. */
export function tokenOf(job: JobRecord & { readonly owner: Owner }): FencingToken {
  if (job.resource !== null && job.resourceGeneration !== null) {
    return { line: leaseLine(job.resource), generation: job.resourceGeneration, owner: job.owner };
  }
  return { line: jobLine(job.jobId), generation: job.generation, owner: job.owner };
}

/** Whether the run still holds the named lease of its resource; true for a job without one. */
export function holdsResource(job: JobRecord, lease: NamedLease | undefined): boolean {
  if (job.resource === null) return true;
  return lease !== undefined && lease.owner === job.owner && lease.generation === job.resourceGeneration;
}
