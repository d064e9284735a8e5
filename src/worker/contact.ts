import type { Clock } from "../clock/world.ts";

/**
 * Knows since when the store has owed an answer (W7). After a silence of a third of a lease, others that were cut off
 * as well may still come back to their jobs; for the next third no lapsed lease is taken over.
 */
export class StoreContact {
  readonly #clock: Clock;
  readonly #thirdMs: number;
  #silentSinceMs: number | undefined;
  #cautiousUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#thirdMs = leaseMs / 3;
  }

  asked(): void {
    this.#silentSinceMs ??= this.#clock.monotonicMs();
  }

  answered(): void {
    if (this.#silentSinceMs === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#silentSinceMs >= this.#thirdMs) this.#cautiousUntilMs = nowMs + this.#thirdMs;
    this.#silentSinceMs = undefined;
  }

  /** Whether an answer has been owed for a third of a lease: renew before anything else. */
  isLost(nowMs: number): boolean {
    return this.#silentSinceMs !== undefined && nowMs - this.#silentSinceMs >= this.#thirdMs;
  }

  /**
   * Whether lapsed leases are to be left to their owners for now: after a silence, and while it lasts. The call that ends
   * it is answered by a store that all others may find again in the same moment.
   */
  isCautious(nowMs: number): boolean {
    return nowMs < this.#cautiousUntilMs || this.isLost(nowMs);
  }
}
