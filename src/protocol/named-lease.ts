/** Named leases (section 1): acquired, renewed, released, never completed. Jobs hold them as resources. */

import { raised } from "./floor.ts";
import { type Generation, generation, type JobId, type NamedFence, type Owner } from "./identity.ts";
import { extendedUntilMs, isExpired, startsInFuture } from "./job.ts";

export interface NamedLease {
  readonly name: string;
  readonly owner: Owner | null;
  readonly leaseUntilMs: number | null;
  readonly leaseMs: number;
  readonly generation: Generation;
  /** The job whose run holds it as its resource; null when it was acquired by name. */
  readonly heldFor: JobId | null;
  /** Who held it last, so that a repeated release is told apart from a stale one. */
  readonly lastOwner: Owner | null;
  readonly heals: number;
}

export type NamedLeaseRefusal =
  | { readonly outcome: "already" }
  | { readonly outcome: "stale"; readonly generation: Generation; readonly owner: Owner | null }
  | { readonly outcome: "gone" };

/** Whether anybody may acquire it now: unowned, or expired. */
export function isFree(lease: NamedLease | undefined, nowMs: number): boolean {
  return isUnowned(lease) || isExpired(lease, nowMs);
}

/** Whether it was never acquired, or was given up. */
export function isUnowned(
  lease: NamedLease | undefined,
): lease is undefined | (NamedLease & { readonly owner: null }) {
  return lease === undefined || lease.owner === null;
}

export interface Acquisition {
  readonly name: string;
  readonly owner: Owner;
  readonly leaseMs: number;
  readonly heldFor: JobId | null;
}

/** Acquires a free lease and raises its generation. The caller has asked `isFree`. */
export function acquire(
  lease: NamedLease | undefined,
  request: Acquisition,
  nowMs: number,
  floor: Generation,
): NamedLease {
  return {
    name: request.name,
    owner: request.owner,
    leaseUntilMs: nowMs + request.leaseMs,
    leaseMs: request.leaseMs,
    generation: raised(lease?.generation ?? generation(0), floor),
    heldFor: request.heldFor,
    lastOwner: request.owner,
    heals: lease?.heals ?? 0,
  };
}

/** C5's condition for a named lease held by name; one that a job holds is renewed and released with the job only. */
export function isCurrentHolder(
  lease: NamedLease | undefined,
  fence: NamedFence,
  epochStart: Generation,
): lease is NamedLease & { readonly owner: Owner } {
  return (
    lease !== undefined &&
    lease.owner === fence.owner &&
    lease.generation === fence.generation &&
    lease.generation > epochStart &&
    lease.heldFor === null
  );
}

export function renewedLease(lease: NamedLease, nowMs: number): NamedLease {
  return { ...lease, leaseUntilMs: extendedUntilMs(lease, nowMs) };
}

/** Given up by its owner: the generation stays, the next acquisition raises it. */
export function releasedLease(lease: NamedLease): NamedLease {
  return { ...lease, owner: null, leaseUntilMs: null, heldFor: null };
}

/** Taken from its owner by an operator: raised, so that the old owner is stale from now on. */
export function revokedLease(lease: NamedLease, floor: Generation): NamedLease {
  return { ...releasedLease(lease), generation: raised(lease.generation, floor), lastOwner: null };
}

/** T5, for whoever meets a lease that starts in the future. */
export function rebasedLease<L extends NamedLease>(lease: L, nowMs: number): L {
  return startsInFuture(lease, nowMs) ? { ...lease, leaseUntilMs: nowMs + lease.leaseMs } : lease;
}

/** Explains a refusal of renew, release or heal; `already` only for a repeated release. */
export function namedRefusal(
  lease: NamedLease | undefined,
  fence: NamedFence,
  operation: "renew" | "release" | "heal",
): NamedLeaseRefusal {
  if (lease === undefined) return { outcome: "gone" };
  if (
    operation === "release" &&
    lease.owner === null &&
    lease.lastOwner === fence.owner &&
    lease.generation === fence.generation
  ) {
    return { outcome: "already" };
  }
  return { outcome: "stale", generation: lease.generation, owner: lease.owner };
}
