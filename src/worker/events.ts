import type { EndOfTrust } from "../errors.ts";
import type { Previous } from "../protocol/claim.ts";
import type { EnqueueAnswer } from "../protocol/enqueue.ts";
import type { FencingToken, Generation, JobId } from "../protocol/identity.ts";
import type { EndReason, JobState } from "../protocol/job.ts";
import type { Refusal } from "../protocol/outcome.ts";

/** Which run an event is about. */
export interface RunRef {
  readonly id: JobId;
  readonly name: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly generation: Generation;
  readonly token: FencingToken;
}

/** What a worker tells; `worker.on(name, listener)`. Listeners are called in the turn in which it happens. */
export interface WorkerEvents {
  /** A handler is about to be called. `previous` held the job before and let it lapse. */
  started: { readonly job: RunRef; readonly previous: Previous | undefined };
  completed: { readonly job: RunRef };
  /** An attempt failed, another follows after `retryInMs`. */
  retrying: { readonly job: RunRef; readonly error: unknown; readonly retryInMs: number };
  /** The job has ended as failed. `error` is what the handler threw. */
  failed: { readonly job: RunRef; readonly error: unknown; readonly endReason: EndReason | null };
  cancelled: { readonly job: RunRef };
  /** Given back with its attempt: at a stop, for a job that runs alone, of an unknown name, or without its queue's slot. */
  released: {
    readonly job: RunRef;
    readonly why: "stopping" | "makes_room" | "unknown_name" | "untrusted" | "slot_lost" | "healed";
  };
  /**
   * A destination refused the run because of `mark` although the store called it current: the store had lost history, and
   * gives out only generations above the mark from now on (C19). The run's end follows: `released`, or `failed` when the
   * job has been healed too often.
   */
  healed: { readonly job: RunRef; readonly mark: Generation; readonly state: JobState };
  /** The run's signal has fired, or would have if it had been looked at (W3). */
  aborted: { readonly job: RunRef; readonly reason: EndOfTrust };
  /** The store refused the run as not current: what it did is discarded (W5). */
  lost: { readonly job: RunRef; readonly refusal: Refusal };
  /** The handler ignores its signal: its place stays taken, its lease is left to lapse (W4). */
  stuck: { readonly job: RunRef; readonly reason: EndOfTrust; readonly runningMs: number };
  /** An isolated handler ignored its signal for the grace: its process has been ended, and is gone (W4). */
  terminated: { readonly job: RunRef; readonly reason: EndOfTrust; readonly pid: number };
  /** The handler threw after `job.complete` had ended the job. */
  threwLate: { readonly job: RunRef; readonly error: unknown };
  /** A lapsed job that a claim of this worker ended instead of running it (C12, C13). */
  expired: {
    readonly id: JobId;
    readonly name: string;
    readonly state: JobState;
    readonly endReason: EndReason | null;
  };
  /** Nothing is due; the worker sleeps. */
  idle: { readonly nextDueInMs: number | undefined };
  /** This worker has enqueued a slot of a schedule, so late by store time; `answer` says what became of its job. */
  scheduled: {
    readonly schedule: string;
    readonly slotMs: number;
    readonly lateMs: number;
    readonly answer: EnqueueAnswer;
  };
  unreachable: { readonly error: unknown };
  reachable: Record<string, never>;
  error: { readonly error: unknown; readonly during: string };
  stopped: Record<string, never>;
}

/** How many runs came to which end since the worker began. */
export interface RunCounts {
  completed: number;
  /** Ended as failed, also by a claim that found them lapsed and without attempts. */
  failed: number;
  cancelled: number;
  retried: number;
  released: number;
  lost: number;
}
