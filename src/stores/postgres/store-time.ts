import type { Clock } from "../../clock/world.ts";

/** An answer takes some time to come, which must not hide a lease that has just lapsed, ms. */
const ANSWER_MS = 50;

/**
 * How far the store's time has come, as far as this process can tell: what the store said last, and the time that has
 * passed here since. It is sent along with a claim, so that a claim which was long on its way (a server that stood still
 * answers what lies in its sockets when it goes on, whatever has become of the sender) takes over only what had lapsed
 * when it was sent: owners who were cut off as well come back to the rest (W7). Which leases have lapsed is for the
 * store's own clock to say (T1); this can only leave some for the next claim.
 */
export class StoreTime {
  readonly #clock: Clock;
  #aheadMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** At an answer. @param nowMs store time, ms */
  told(nowMs: number): void {
    this.#aheadMs = nowMs + ANSWER_MS - this.#clock.monotonicMs();
  }

  /** Store time in whole ms, ahead of it by no more than `ANSWER_MS` or a step of its clock; null before the first answer. */
  get estimateMs(): number | null {
    return this.#aheadMs === null ? null : Math.floor(this.#clock.monotonicMs() + this.#aheadMs);
  }
}
