/**
 * What a worker and an isolated process say to each other. All of it is JSON, in order, over the channel of `fork`;
 * deadlines alone go to the process's watchdog, over a pipe of its own, since a blocked main loop reads no channel.
 *
 * A write of a run is one message, sent and forgotten. A call that is awaited has a number, under which its
 * answer comes back; `RunContext` asks them of `ContextRun`.
 */

import type { EndOfTrust } from "../../errors.ts";
import type { StepChange } from "../../protocol/step.ts";
import type { Instant } from "../../protocol/trust.ts";
import type { ClaimedJob } from "../../stores/store.ts";
import type { CarriedError } from "./carried-error.ts";

/** The number of a run within its process: what an earlier one has left behind is told apart by it. */
export type RunNumber = number;

export type ToProcess =
  | {
      readonly kind: "run";
      readonly run: RunNumber;
      readonly module: string;
      readonly claimed: ClaimedJob;
      /** Both clocks of this machine before the last answered claim or renewal was sent. */
      readonly sent: Instant;
      readonly maxResultBytes: number;
    }
  | { readonly kind: "abort"; readonly run: RunNumber; readonly reason: EndOfTrust }
  | ({ readonly kind: "answer"; readonly run: RunNumber; readonly call: number } & CallAnswer);

/** What came of an awaited call. */
export type CallAnswer = { readonly value: unknown } | { readonly error: CarriedError };

/** What is asked for in such a call. */
export type AwaitedCall =
  | { readonly method: "writeStep"; readonly step: string; readonly change: StepChange }
  | { readonly method: "readSteps" };

export type FromProcess =
  /** Its watchdog is awake. */
  | { readonly kind: "ready" }
  | { readonly kind: "progress"; readonly run: RunNumber; readonly json: string }
  | { readonly kind: "log"; readonly run: RunNumber; readonly text: string }
  | ({ readonly kind: "call"; readonly run: RunNumber; readonly call: number } & AwaitedCall)
  | { readonly kind: "returned"; readonly run: RunNumber; readonly result: string | null }
  | { readonly kind: "threw"; readonly run: RunNumber; readonly error: CarriedError }
  /** Something was thrown outside the handler: the process is about to die of it, unless its module prevents that. */
  | { readonly kind: "crashing"; readonly error: CarriedError };

/** A line of the watchdog's pipe: until when the process may live, as far as this run goes. */
export interface Deadline {
  readonly run: RunNumber;
  readonly sent: Instant;
  readonly leaseMs: number;
  readonly marginMs: number;
  readonly graceMs: number;
}

/** Where the watchdog's pipe is in the process: after the standard streams and the channel. */
export const WATCHDOG_FD = 4;

/**
 * Where the watchdog says that it is about to kill its process. Not the same pipe: a deadline that a worker writes when it
 * goes on after a pause, to a process that is dead, is an error there, after which nothing more could be read from it.
 */
export const LAST_WORDS_FD = 5;

/** What it says. */
export const KILLED_ITSELF: EndOfTrust = "lease_expired";
