/**
 * The one door through which anything that is not deterministic enters Leasehold: time, timers, randomness, ids, and
 * the points at which a test may make this process pause, die or fail. Nothing else under `src/` may reach for the
 * globals; lint holds that. `systemWorld()` is the real one, `manualWorld()` the one that tests move by hand.
 */

import type { JobId, Owner } from "../protocol/identity.ts";

/** A process's two clocks. Neither is ever compared with another machine's (protocol T4). */
export interface Clock {
  /** Milliseconds since some fixed point of this machine; never steps, the same origin for every thread. */
  monotonicMs(): number;
  /** Milliseconds since 1970 by the machine's wall clock; may step either way at any time. */
  wallMs(): number;
}

export interface Timer {
  /** Stops the timer; doing so twice, or after it fired, is fine. */
  cancel(): void;
}

export interface TimerOptions {
  /** When true the timer alone does not keep the process alive. Default false. */
  readonly background?: boolean;
}

export interface Timers {
  /** Calls `fn` once after `delayMs` (any finite number ≥ 0: delays beyond 2^31 − 1 ms are safe). */
  after(delayMs: number, fn: () => void, options?: TimerOptions): Timer;
  /**
   * Calls `fn` in a later turn of the event loop, after the I/O that is due. Calls keep their order, and those that were
   * asked for together follow each other with nothing but promises in between.
   */
  nextTurn(fn: () => void): void;
  /** Resolves after `delayMs`, or at once when `signal` fires (it never rejects). */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export interface Random {
  /** A number in [0, 1). */
  next(): number;
}

export interface Ids {
  /** A new job id: a version 7 UUID. Its time part decides nothing (protocol section 1). */
  jobId(): JobId;
  /** A new owner: random, and nothing else; never a host name or pid. */
  owner(): Owner;
}

/** Places in the product at which a fault test may act on the process itself. The real world does nothing there. */
export type FaultPoint =
  | "after-claim-reply"
  | "after-deadline-check"
  | "before-effect-send"
  | "after-effect-reply"
  | "before-complete-send"
  | "after-complete-reply"
  | "in-renewal"
  | "in-shutdown"
  | "in-store-transaction";

export interface World {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly ids: Ids;
  /** Called when the code reaches `point`. Synchronous: it may stop, kill, delay or throw. */
  reached(point: FaultPoint): void;
}
