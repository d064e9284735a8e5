import type { Instant } from "../protocol/trust.ts";

/** Half of the smallest margin: noticed before any lease becomes unknown by it. */
const NOTICED_MS = 25;

/** Notices that the two clocks have drifted apart: every lease must then be renewed before it is trusted again (T3). */
export class Drift {
  #offsetMs: number | undefined;

  /** Whether the clocks have moved against each other since the last time that this was true, or the first look. */
  hasGrown(now: Instant): boolean {
    const offsetMs = now.wallMs - now.monotonicMs;
    const grown = this.#offsetMs !== undefined && Math.abs(offsetMs - this.#offsetMs) > NOTICED_MS;
    if (grown || this.#offsetMs === undefined) this.#offsetMs = offsetMs;
    return grown;
  }
}
