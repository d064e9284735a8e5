/**
 * How long an owner may trust its own lease (T2, T3). Only the owner's clocks are asked, and only against themselves.
 * Trust saves wasted work; safety comes from the store (C5 to C8) and from destinations.
 *
 * @see Gray & Cheriton, "Leases", SOSP 1989, on counting a lease from before it was asked for
 */

import { InvalidArgumentError } from "../errors.ts";

/** The two clocks read together. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** What one answered claim or renewal lets its owner believe. */
export interface Trust {
  /** Both clocks read *before* the request was sent: the store may have started the lease at any instant after. */
  readonly sent: Instant;
  readonly leaseMs: number;
  readonly marginMs: number;
}

/** `unknown`: the clocks disagree, so no guarded effect may start until a renewal has answered. `ended` is final. */
export type TrustState = "held" | "unknown" | "ended";

/** Lease lengths that the API accepts, in ms. */
export const MIN_LEASE_MS = 250;
export const MAX_LEASE_MS: number = 30 * 24 * 3_600_000;

/** The default margin (T2): a tenth of the lease, at least 50 ms. */
export function defaultMarginMs(leaseMs: number): number {
  return Math.max(leaseMs / 10, 50);
}

/** @throws {InvalidArgumentError} when the lease is shorter than five margins (T2) or outside 250 ms to 30 days */
export function checkLeaseMs(leaseMs: number, marginMs: number = defaultMarginMs(leaseMs)): void {
  const shortest = Math.max(MIN_LEASE_MS, 5 * marginMs);
  if (!Number.isInteger(leaseMs) || leaseMs < shortest || leaseMs > MAX_LEASE_MS) {
    throw new InvalidArgumentError(
      "leaseMs",
      leaseMs,
      `whole milliseconds from ${shortest} to ${MAX_LEASE_MS}`,
    );
  }
}

/** How many ms of trust are left by the clock that is further ahead; negative when it has run out. */
export function remainingTrustMs(trust: Trust, now: Instant): number {
  const elapsedMs = Math.max(now.monotonicMs - trust.sent.monotonicMs, now.wallMs - trust.sent.wallMs);
  return trust.leaseMs - trust.marginMs - elapsedMs;
}

/** T3. The monotonic clock alone may end an unsure lease: at least that much time has really passed. */
export function trustState(trust: Trust, now: Instant): TrustState {
  const monotonicElapsedMs = now.monotonicMs - trust.sent.monotonicMs;
  const wallElapsedMs = now.wallMs - trust.sent.wallMs;
  const trustedMs = trust.leaseMs - trust.marginMs;
  if (monotonicElapsedMs >= trustedMs) return "ended";
  if (Math.abs(wallElapsedMs - monotonicElapsedMs) > trust.marginMs) return "unknown";
  return wallElapsedMs >= trustedMs ? "ended" : "held";
}

/**
 * Before this moment of the monotonic clock `trustState` is never `ended`, whatever the wall clock says: it counts only where
 * the two agree within the margin (T3).
 */
export function earliestEndMs({ sent, leaseMs, marginMs }: Trust): number {
  return sent.monotonicMs + leaseMs - 2 * marginMs;
}
