/** What the processes of the demo tell its narrator. */

import type { AccountPlace } from "../accounts/account.ts";
import type { StoreLocation } from "../store-url.ts";

export type Who = "A" | "B";

export type Step =
  | "given-back"
  | "claimed"
  | "paid"
  | "freezing"
  | "resumed"
  | "renewal"
  | "completion"
  | "write"
  | "payment-repeated"
  | "waiting";

export interface Report {
  readonly step: Step;
  /** As the store or the destination answered: `applied`, `stale`, `refused`, `replayed`. */
  readonly outcome: string;
  /** The generation that was shown, or got. */
  readonly generation: number;
  /** The generation that was current where it was refused. */
  readonly current?: number;
  /** For a claim: who held the job before. */
  readonly previous?: { readonly generation: number; readonly endedAgoMs: number };
  /** Why the store refused. */
  readonly reason?: string;
  /** In the destination's own words, when it refused. */
  readonly message?: string;
  /** How long a frozen process was away, by its own clock. */
  readonly awayMs?: number;
  /** The payment provider's answer. */
  readonly receipt?: string;
}

/** The story's constants. Short, so that the reader waits for one lease only; everything else is immediate. */
export const LEASE_MS = 1_500;
export const JOB = "credit-account";
export const CENTS = 1_999;
/** The first claim of the story itself has the number after these; they are 1 to 6 in a store without a raised floor. */
export const EARLIER_GENERATIONS = 6;

export interface PlayerArguments {
  readonly who: Who;
  readonly store: StoreLocation;
  /** The demo's own: other jobs of the store are none of its business. */
  readonly queue: string;
  readonly account: AccountPlace;
  /** B only: the process to wake should the narrator be killed while A is frozen. */
  readonly wakePid?: number;
}
