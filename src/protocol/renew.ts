/** C5. An expired lease that nobody has reclaimed is still its owner's: nobody else has been promised the job yet. */

import { extendedUntilMs, type JobRecord } from "./job.ts";
import { type NamedLease, renewedLease } from "./named-lease.ts";

export interface Renewed {
  readonly outcome: "applied";
  /** For how many ms (store time) the lease had lapsed; 0 when it had not. */
  readonly lapsedMs: number;
  /** A pending cancel (C13), brought to the owner by this reply. */
  readonly cancelRequested: boolean;
}

/** Renews a job that `isCurrent` found to be the fence's, together with the resource that its run holds. */
export function renew(
  job: JobRecord,
  lease: NamedLease | undefined,
  nowMs: number,
): { readonly job: JobRecord; readonly lease: NamedLease | undefined; readonly answer: Renewed } {
  return {
    job: { ...job, leaseUntilMs: extendedUntilMs(job, nowMs) },
    lease: job.resource === null || lease === undefined ? undefined : renewedLease(lease, nowMs),
    answer: {
      outcome: "applied",
      lapsedMs: lapsedMs(job, nowMs),
      cancelRequested: job.cancelRequested,
    },
  };
}

export function lapsedMs(lease: { readonly leaseUntilMs: number | null }, nowMs: number): number {
  return lease.leaseUntilMs === null ? 0 : Math.max(0, nowMs - lease.leaseUntilMs);
}
