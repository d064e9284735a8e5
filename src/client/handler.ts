/** What a handler is given. The worker makes these; destinations take the lease. */

import type { Previous } from "../protocol/claim.ts";
import type { FencingToken, JobId } from "../protocol/identity.ts";
import type { TrustState } from "../protocol/trust.ts";
import type { Tx } from "../stores/store.ts";
import type { Step } from "./step.ts";

/**
 * Temporary ownership. A paused process does not know that it has been replaced, so nothing here makes an effect safe:
 * hand `token` to the destination, which refuses a lower one than it has seen.
 */
export interface Lease {
  /** What an effect carries to its destination. */
  readonly token: FencingToken;
  /**
   * What the keys of effects begin with (D4): `job:<job_id>/<run>`, the same for every attempt of a run, so that a
   * destination knows a repeat. Null under `withLease`: without a job, a repeat cannot be told from a new effect.
   */
  readonly effectScope: string | null;
  /** By this process's own clocks (T2, T3). `unknown`: start no effect until a renewal has answered. `ended` is final. */
  readonly state: TrustState;
  /** How long the lease can be trusted yet, in ms; 0 when it has ended. */
  remainingMs(): number;
  /** Fires when trust ends, with a `LeaseEndedError` as its reason (W3). */
  readonly signal: AbortSignal;
  /**
   * Saves work that would be refused; it does not make the next line safe.
   *
   * @throws {LeaseNotTrustedError} when the lease is not `held`
   */
  assertTrusted(): void;
}

export interface RunningJob {
  readonly id: JobId;
  readonly name: string;
  readonly queue: string;
  /** This try, counted against `maxAttempts`; the first is 1. It may be given back, so it is no order: see the token. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Rises when an operator has the ended job run anew from its start; part of every effect's key. The first is 1. */
  readonly run: number;
  /** Who held the job before and let it lapse, with which generation and how long ago; undefined when nobody did. */
  readonly previous: Previous | undefined;
  /**
   * Completes the job in one short transaction of its own store, together with what `body` writes through `tx`; refused
   * as a whole when the lease is stale. Resolves to what `body` returned, which is the job's result. Afterwards the job
   * has ended: what the handler returns is ignored, and what it throws is an event.
   *
   * `body` awaits nothing but `tx`, and runs again when the store was busy or its answer got lost; so what it does
   * beside `tx` may happen more than once.
   *
   * @throws {StaleLeaseError | GoneError} nothing was written: stop
   * @throws {AlreadySettledError} the job had been completed before
   * @throws {IsolatedCompletionError} in an isolated process, which the store's transaction does not reach
   * @throws {UnknownOutcomeError} no answer before the lease could no longer be trusted: it may have happened
   */
  complete<Result>(body: (tx: Tx) => Promise<Result> | Result): Promise<Result>;
}

/** What `run` is called with. Members may be taken apart; those not asked for cost nothing. */
export interface RunContext<Input = unknown> {
  readonly input: Input;
  readonly job: RunningJob;
  readonly lease: Lease;
  /** The lease's. */
  readonly signal: AbortSignal;
  /**
   * Tells how far the run has come; the latest value is what readers see. Written in batches, under the run's fence;
   * not waited for, and dropped when the store cannot be reached.
   *
   * @throws {UnstorableValueError} when `value` would not survive as JSON
   */
  readonly progress: (value: unknown) => void;
  /** Writes a line to the job's journal, in the same way; cut at 4 KiB. */
  readonly log: (text: string) => void;
  /** A part of the work that a later attempt does not repeat once it is finished. */
  readonly step: Step;
}
