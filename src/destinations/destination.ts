/**
 * What a destination owes (protocol section 5, D1 to D9): the place where an effect lands compares the token with its
 * mark, raises it, writes, and remembers the answer, in one atomic and durable step. A kit in this folder is that step
 * for one kind of place. It needs no store and no worker, only what a lease carries.
 */

import type { Mark } from "../protocol/destination-rule.ts";
import type { FencingToken, Line } from "../protocol/identity.ts";

/**
 * What is proven of a destination (D8). `fenced`: late writes are refused. `deduplicated`: a repeated effect is answered
 * with the first one's answer. `at least once`: neither.
 */
export type DestinationLevel = "fenced + deduplicated" | "fenced" | "deduplicated" | "at least once";

/** What a kit takes of a handler's lease: a lease of a worker or of `withLease`, or what a service rebuilt from a request. */
export interface EffectLease {
  readonly token: FencingToken;
  /**
   * Whose effects these are, the same over all attempts of one run (D4): the job and its run number. Null for a named
   * lease without a job, whose effects cannot be told from repeats.
   */
  readonly effectScope: string | null;
  /** @throws {LeaseNotTrustedError} no new effect starts then (W5); absent where nobody can know */
  assertTrusted?(): void;
}

export interface EffectOptions {
  /**
   * The step's name within the run: 1 to 200 characters without control characters, not used twice for two effects of
   * one run. With the lease's scope it is the effect's key (D4). Left out: the effect is fenced and not deduplicated.
   */
  readonly step?: string;
  /** What is asked for, as JSON. Stored as a hash: the same key with another request is refused. */
  readonly request?: unknown;
}

/** The effect of a step, where deduplication is asked for on purpose. */
export interface StepOptions extends EffectOptions {
  readonly step: string;
}

/** What every kit has, whatever its writes look like. */
export interface Destination {
  readonly level: DestinationLevel;
  /**
   * Raises the mark ahead of a write (D3): from then on no earlier owner can write. Do it before something is read here
   * that a later write depends on.
   *
   * @throws {StaleTokenError} a later owner has been here
   */
  advance(lease: EffectLease): Promise<void>;
  /** The line's mark; undefined where no token was seen. */
  markOf(line: Line): Promise<Mark | undefined>;
  /** Writes with a stale token on a harmless line of its own and expects refusal (D9). */
  probe(): Promise<ProbeResult>;
}

/** A destination whose effects are made in one short transaction of its own. */
export interface Guard<Tx> extends Destination {
  /**
   * Admits the token (D2), raises the mark, and lets `body` make the effect, all or nothing. An effect with a step that
   * was made before is not made again: its answer comes back as it was (D4).
   *
   * @returns what `body` returned, which has to survive as JSON; or what it returned the first time
   * @throws {StaleTokenError} a later owner has been here: nothing was written by this call (D5)
   * @throws {PrunedLineError}
   * @throws {EffectMismatchError} the step was used for another request
   * @throws {EffectRunningError} the same effect is being made just now
   * @throws {LeaseNotTrustedError} before anything is sent
   */
  write<Answer>(
    lease: EffectLease,
    effect: EffectOptions,
    body: (tx: Tx) => Promise<Answer> | Answer,
  ): Promise<Answer>;
}

/**
 * What `admitIn` answers about a step in the caller's own transaction (D4). Fresh: the caller makes the effect there, and may
 * `keep` an answer for repeats, which get null otherwise. Not fresh: the effect was made before, and `answer` is the first
 * one's. `Kept` is `Answer`, or a promise of it.
 */
export type AdmittedStep<Answer, Kept> =
  | { readonly isFresh: true; keep(answer: Answer): Kept }
  | { readonly isFresh: false; readonly answer: Answer };

/** `isProven` false: late writes may land there; show the destination as not proven. */
export type ProbeResult = { readonly isProven: true } | { readonly isProven: false; readonly why: string };
