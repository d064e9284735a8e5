/** What a drill and its two worker processes say to each other. */

import type { AccountPlace } from "../accounts/account.ts";
import type { StoreLocation } from "../store-url.ts";
import type { FaultName } from "./faults.ts";

/** The drill's jobs, in whichever store. */
export const JOB = "leasehold-drill";

/** Where the effects go: to one of the accounts, or to what a module of the caller's exports. */
export type TargetPlace = { readonly account: AccountPlace } | { readonly module: string };

export interface WorkerSpec {
  readonly store: StoreLocation;
  /** The drill's own: other jobs of the store are none of its business. */
  readonly queue: string;
  readonly leaseMs: number;
  readonly target: TargetPlace;
}

/** One run of one job. */
export interface Part {
  readonly kind: "work";
  /** What is done to it; `none` for the owner who takes over. */
  readonly fault: FaultName | "none";
  readonly delayMs: number;
  /** Whether it waits for a word between its effect and its end. */
  readonly waits: boolean;
  /** A blocked process goes on when this file is there: it cannot be told. */
  readonly goFile: string;
  /** Whoever is stopped, to be woken should the drill itself be killed meanwhile. */
  readonly wakePid?: number;
}

export type ToWorker = Part | { readonly kind: "go" };

/** What the store said to a call, as far as it is told. */
export interface StoreAnswer {
  readonly outcome: string;
  /** The generation that was current. */
  readonly current?: number;
  readonly reason?: string;
}

/** What the destination said to a write. Whether it landed is not to be had from this. */
export type WriteAnswer =
  | { readonly outcome: "answered" }
  | { readonly outcome: "refused" | "failed"; readonly message: string };

export type FromWorker =
  | {
      readonly kind: "claimed";
      readonly generation: number;
      /** Who held the job before, and how long ago that lease had ended by store time. */
      readonly previous?: { readonly generation: number; readonly endedAgoMs: number };
    }
  | { readonly kind: "wrote"; readonly answer: WriteAnswer }
  /** The first acts of an owner who has been replaced and does not know. */
  | {
      readonly kind: "late";
      /** Since the fault began, by its own clock. */
      readonly awayMs: number;
      readonly write: WriteAnswer;
      readonly renewal: StoreAnswer;
      readonly completion: StoreAnswer;
    }
  | {
      readonly kind: "ended";
      /** As its worker tells it: `completed`, `lost`, …; `expired` when its own clock ended its trust before that. */
      readonly end: string;
      /** All of the store's answers to the worker's own completion. */
      readonly completions: readonly string[];
    }
  | { readonly kind: "unable"; readonly message: string };

export type Kind = FromWorker["kind"];
export type Told<K extends Kind> = Extract<FromWorker, { readonly kind: K }>;
