/** Delays between attempts. Pure: the caller brings the random number. */

import { InvalidArgumentError } from "../errors.ts";

export interface Backoff {
  /** `fixed` waits `baseMs` each time; `exponential` doubles it with each attempt. */
  readonly kind: "fixed" | "exponential";
  /** The first delay, in ms. */
  readonly baseMs: number;
  /** No delay is longer than this, in ms. */
  readonly capMs: number;
  /** `full` draws evenly between 0 and the delay, so that what failed together does not come back together. */
  readonly jitter: "none" | "full";
}

export const DEFAULT_BACKOFF: Backoff = {
  kind: "exponential",
  baseMs: 1_000,
  capMs: 3_600_000,
  jitter: "full",
};

/**
 * The delay before the attempt after `attempt` (the first attempt is 1), in whole ms. Without jitter it never falls
 * from one attempt to the next; it is finite, not negative and not above the cap for any attempt number.
 *
 * @see Brooker, "Exponential Backoff And Jitter" (2015), for full jitter
 */
export function retryDelayMs(backoff: Backoff, attempt: number, random: number): number {
  // Past 2^52 doublings the power is useless and soon infinite; every cap that is accepted was reached long before.
  const doublings = backoff.kind === "exponential" ? Math.min(Math.max(attempt - 1, 0), 52) : 0;
  const delayMs = Math.min(backoff.baseMs * 2 ** doublings, backoff.capMs);
  return Math.floor(backoff.jitter === "full" ? delayMs * random : delayMs);
}

/** @throws {InvalidArgumentError} naming the member that cannot be used */
export function checkBackoff(backoff: Backoff): void {
  const usable = (ms: number): boolean => Number.isFinite(ms) && ms >= 0 && ms <= Number.MAX_SAFE_INTEGER;
  if (!usable(backoff.baseMs))
    throw new InvalidArgumentError("backoff.baseMs", backoff.baseMs, "milliseconds, 0 or more");
  if (!usable(backoff.capMs))
    throw new InvalidArgumentError("backoff.capMs", backoff.capMs, "milliseconds, 0 or more");
  if (backoff.kind !== "fixed" && backoff.kind !== "exponential") {
    throw new InvalidArgumentError("backoff.kind", backoff.kind, `"fixed" or "exponential"`);
  }
  if (backoff.jitter !== "none" && backoff.jitter !== "full") {
    throw new InvalidArgumentError("backoff.jitter", backoff.jitter, `"none" or "full"`);
  }
}
