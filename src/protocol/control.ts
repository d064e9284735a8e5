/** What an operator, not an owner, does to a job: C13 cancel and revoke, C14 delete, C18 retry; and C19 heal. */

import { EPOCH_SIZE, raised } from "./floor.ts";
import { type FencingToken, type Generation, generation, jobLine, type Owner } from "./identity.ts";
import { isEnded, type JobRecord, type JobState } from "./job.ts";
import { type NamedLease, releasedLease } from "./named-lease.ts";

export type ControlAnswer =
  | {
      readonly outcome: "applied";
      readonly state: JobState;
      readonly generation: Generation;
      /** Cancel only: the owner has yet to hear of it. */
      readonly pending: boolean;
    }
  | { readonly outcome: "already"; readonly state: JobState }
  /** The job is in a state in which this cannot be done. */
  | { readonly outcome: "conflict"; readonly state: JobState; readonly why: string }
  | { readonly outcome: "gone" };

export interface Controlled {
  /** Undefined when nothing is to be written. */
  readonly job: JobRecord | undefined;
  readonly lease?: NamedLease | undefined;
  readonly answer: ControlAnswer;
}

const applied = (job: JobRecord, lease?: NamedLease): Controlled => ({
  job,
  lease,
  answer: { outcome: "applied", state: job.state, generation: job.generation, pending: job.cancelRequested },
});

const conflict = (job: JobRecord, why: string): Controlled => ({
  job: undefined,
  answer: { outcome: "conflict", state: job.state, why },
});

/** C13: a ready job ends at once; a leased one is asked to stop, which its owner hears with the next renewal. */
export function cancel(job: JobRecord, nowMs: number): Controlled {
  if (job.state === "cancelled" || (job.state === "leased" && job.cancelRequested)) {
    return { job: undefined, answer: { outcome: "already", state: job.state } };
  }
  if (isEnded(job)) return conflict(job, `it has ended as ${job.state}`);
  if (job.state === "leased") return applied({ ...job, cancelRequested: true });
  const end = { state: "cancelled", endReason: "cancelled", finishedAtMs: nowMs } as const;
  return applied({ ...job, ...end, blockedBy: 0, runAtMs: null });
}

/**
 * C13: takes the job from its owner, who is stale from now on. At destinations only a higher token does the same. The
 * attempt is given back: the run was ended by an operator, not by the job, and I15 counts no more starts than attempts.
 */
export function revoke(
  job: JobRecord,
  lease: NamedLease | undefined,
  nowMs: number,
  floor: Generation,
): Controlled {
  if (job.state !== "leased") return conflict(job, `it is ${job.state}, so nobody holds a lease on it`);
  const cancelled = job.cancelRequested;
  const freed: JobRecord = {
    ...job,
    state: cancelled ? "cancelled" : "ready",
    endReason: cancelled ? "cancelled" : null,
    finishedAtMs: cancelled ? nowMs : null,
    cancelRequested: false,
    generation: raised(job.generation, floor),
    raisedBy: "revoke",
    attempt: Math.max(0, job.attempt - 1),
    owner: null,
    leaseUntilMs: null,
    resourceGeneration: null,
    runAtMs: null,
  };
  const held =
    lease !== undefined && lease.heldFor === job.jobId && lease.generation === job.resourceGeneration;
  const freedLease = held
    ? { ...releasedLease(lease), generation: raised(lease.generation, floor), lastOwner: null }
    : undefined;
  return applied(freed, freedLease);
}

/** The token that the caller may advance at a destination after a revoke. Its owner is nobody's: it admits no write. */
export function revocationToken(job: JobRecord, lease: NamedLease | undefined, owner: Owner): FencingToken {
  return lease === undefined
    ? { line: jobLine(job.jobId), generation: job.generation, owner }
    : { line: `lease:${lease.name}` as FencingToken["line"], generation: lease.generation, owner };
}

/** C18. The caller has looked whether the job's unique key is taken by another live job. */
export function retry(job: JobRecord, again: boolean, keyTaken: boolean, floor: Generation): Controlled {
  if (!isEnded(job)) return conflict(job, `it has not ended: it is ${job.state}`);
  if (keyTaken)
    return conflict(job, `its unique key ${JSON.stringify(job.uniqueKey)} is held by another live job`);
  return applied({
    ...job,
    state: "ready",
    endReason: null,
    finishedAtMs: null,
    runAtMs: null,
    generation: raised(job.generation, floor),
    raisedBy: "retry",
    attempt: 0,
    expiredCount: 0,
    heals: 0,
    cancelRequested: false,
    result: null,
    error: null,
    progress: null,
    run: again ? job.run + 1 : job.run,
  });
}

/** C14: a leased job is never deleted, expired or not. */
export function mayDelete(job: JobRecord): boolean {
  return job.state !== "leased";
}

const MAX_HEALS = 3;

export type HealAnswer =
  | { readonly outcome: "applied"; readonly state: JobState; readonly generation: Generation }
  /** The mark is of a later epoch than the store's: a person must look. */
  | { readonly outcome: "too_high"; readonly generation: Generation };

/**
 * C19, for the current owner (`isCurrent`) whose token a destination refused with `mark`: the store had lost history,
 * so the line's generation is lifted to the mark and the job given back. After three heals the job fails.
 */
export function heal(
  job: JobRecord,
  lease: NamedLease | undefined,
  mark: Generation,
  nowMs: number,
  epoch: number,
  floor: Generation,
): { readonly job?: JobRecord; readonly lease?: NamedLease; readonly answer: HealAnswer } {
  if (isTooHigh(mark, epoch)) return { answer: { outcome: "too_high", generation: job.generation } };
  const onLease = lease !== undefined && job.resource !== null;
  const spent = job.heals + 1 >= MAX_HEALS;
  const healed: JobRecord = {
    ...job,
    state: job.cancelRequested ? "cancelled" : spent ? "failed" : "ready",
    endReason: job.cancelRequested ? "cancelled" : spent ? "mark" : null,
    finishedAtMs: job.cancelRequested || spent ? nowMs : null,
    cancelRequested: false,
    generation: generation(Math.max(job.generation, floor, onLease ? 0 : mark)),
    raisedBy: "heal",
    heals: job.heals + 1,
    attempt: Math.max(0, job.attempt - 1),
    owner: null,
    leaseUntilMs: null,
    resourceGeneration: null,
    runAtMs: null,
  };
  const answer: HealAnswer = { outcome: "applied", state: healed.state, generation: healed.generation };
  if (!onLease) return { job: healed, answer };
  return { job: healed, lease: liftedLease(lease, mark, floor), answer };
}

export type HealLeaseAnswer =
  | { readonly outcome: "applied"; readonly generation: Generation }
  | { readonly outcome: "too_high"; readonly generation: Generation };

/** C19 for a named lease that is held by name. It has no attempts, so it is healed however often it takes. */
export function healLease(
  lease: NamedLease,
  mark: Generation,
  epoch: number,
  floor: Generation,
): { readonly lease?: NamedLease; readonly answer: HealLeaseAnswer } {
  if (isTooHigh(mark, epoch)) return { answer: { outcome: "too_high", generation: lease.generation } };
  const healed = liftedLease(lease, mark, floor);
  return { lease: healed, answer: { outcome: "applied", generation: healed.generation } };
}

/**
 * A later epoch is another history's: a primary that was replaced and does not know it would otherwise climb into the
 * generations of the one that has replaced it, and give them out as well.
 */
function isTooHigh(mark: Generation, epoch: number): boolean {
  return mark >= (epoch + 1) * EPOCH_SIZE;
}

/** Its last owner is nobody's any more: with the lifted generation a repeated release would look like its own. */
function liftedLease(lease: NamedLease, mark: Generation, floor: Generation): NamedLease {
  return {
    ...releasedLease(lease),
    generation: generation(Math.max(lease.generation, mark, floor)),
    lastOwner: null,
    heals: lease.heals + 1,
  };
}
