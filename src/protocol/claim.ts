/** C2, C12 and the lapses that a claim meets. Pure: the caller brings the record, its lease, store time and floor. */

import { raised } from "./floor.ts";
import { type Generation, generation, type Owner } from "./identity.ts";
import { isExpired, type JobRecord, startsInFuture } from "./job.ts";
import { acquire, isFree, isUnowned, type NamedLease } from "./named-lease.ts";

export interface ClaimTerms {
  readonly owner: Owner;
  readonly nowMs: number;
  readonly floor: Generation;
  /** False: leave expired leases, also those of resources, to their owners for now (W7). */
  readonly takeover: boolean;
}

/** Who held the job before, and how long ago (store time, ms) its lease ended. */
export interface Previous {
  readonly owner: Owner;
  readonly generation: Generation;
  readonly endedAgoMs: number;
}

export interface Claim {
  readonly job: JobRecord & { readonly owner: Owner };
  readonly lease: NamedLease | undefined;
  readonly previous: Previous | undefined;
}

/**
 * What the claim finds an expired lease to be: `end` when the job has no attempts left (C12) or a cancel is pending
 * (C13), else `take`.
 */
export function lapse(job: JobRecord, nowMs: number): "none" | "take" | "end" {
  if (job.state !== "leased" || !isExpired(job, nowMs)) return "none";
  return job.cancelRequested || job.attempt >= job.maxAttempts ? "end" : "take";
}

/** Ends an expired job that cannot run again: generation raised, owner cleared, so that its old owner is stale. */
export function endLapsed(job: JobRecord, nowMs: number, floor: Generation): JobRecord {
  return {
    ...job,
    state: job.cancelRequested ? "cancelled" : "failed",
    endReason: job.cancelRequested ? "cancelled" : "lease_expired",
    raisedBy: job.cancelRequested ? "cancel" : "expire",
    generation: raised(job.generation, floor),
    expiredCount: job.expiredCount + 1,
    owner: null,
    leaseUntilMs: null,
    resourceGeneration: null,
    cancelRequested: false,
    finishedAtMs: nowMs,
  };
}

/** T5, for a claim that meets a lease that starts in the future. */
export function rebased(job: JobRecord, nowMs: number): JobRecord {
  return job.state === "leased" && startsInFuture(job, nowMs)
    ? { ...job, leaseUntilMs: nowMs + job.leaseMs }
    : job;
}

/** A blocked job is not due, whatever the clock says. */
export function isDue(job: JobRecord, nowMs: number): boolean {
  return job.state === "ready" && job.blockedBy === 0 && (job.runAtMs === null || job.runAtMs <= nowMs);
}

/** Claims one job if it may be claimed; undefined when it may not. */
export function claim(job: JobRecord, lease: NamedLease | undefined, terms: ClaimTerms): Claim | undefined {
  const { owner, nowMs, floor, takeover } = terms;
  const lapsed = lapse(job, nowMs) === "take";
  if (!(isDue(job, nowMs) || (lapsed && takeover))) return undefined;
  if (job.resource !== null && !(takeover ? isFree(lease, nowMs) : isUnowned(lease))) return undefined;

  const held =
    job.resource === null
      ? undefined
      : acquire(lease, { name: job.resource, owner, leaseMs: job.leaseMs, heldFor: job.jobId }, nowMs, floor);
  const claimed = {
    ...job,
    state: "leased" as const,
    runAtMs: null,
    owner,
    leaseUntilMs: nowMs + job.leaseMs,
    generation: raised(job.generation, floor),
    raisedBy: "claim" as const,
    attempt: job.attempt + 1,
    expiredCount: job.expiredCount + (lapsed ? 1 : 0),
    resourceGeneration: held?.generation ?? null,
    claimedAtMs: nowMs,
  };
  return { job: claimed, lease: held, previous: lapsed ? previousOf(job, nowMs) : undefined };
}

function previousOf(job: JobRecord, nowMs: number): Previous | undefined {
  if (job.owner === null || job.leaseUntilMs === null) return undefined;
  return { owner: job.owner, generation: generation(job.generation), endedAgoMs: nowMs - job.leaseUntilMs };
}
