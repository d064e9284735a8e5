/**
 * What every store does (protocol section 3). Small, and the same for all: batches in, an outcome per member out, one
 * atomic step and one round trip per call. A store knows nothing of workers, handlers or schemas.
 *
 * Common to every call:
 * - the store's clock decides (T1); no time read by a worker is ever passed in, only lengths and, for `runAt`, the
 *   caller's own choice of a moment;
 * - it has its own deadline (`timeoutMs`). `StoreBusyError`: certainly nothing was written. `UnknownOutcomeError`: it
 *   may have happened (C11); giving up does not stop the store;
 * - one member's refusal never changes another member's outcome.
 */

import type { BatchCounts, Waits } from "../protocol/blocking.ts";
import type { Previous } from "../protocol/claim.ts";
import type { ControlAnswer, HealAnswer, HealLeaseAnswer } from "../protocol/control.ts";
import type { EnqueueAnswer, NewJob } from "../protocol/enqueue.ts";
import type { Fence, FencingToken, Generation, JobId, NamedFence, Owner } from "../protocol/identity.ts";
import type { JobRecord, JobState, SettleOperation } from "../protocol/job.ts";
import type { JournalEntry } from "../protocol/journal.ts";
import type { QueueLimit, Slot } from "../protocol/limit.ts";
import type { NamedLease, NamedLeaseRefusal } from "../protocol/named-lease.ts";
import type { Busy, Refusal } from "../protocol/outcome.ts";
import type { Renewed } from "../protocol/renew.ts";
import type { SettledAnswer, Settlement } from "../protocol/settle.ts";
import type { StepConflict, StepRecord, StepResolution, StepResolved, StepWrite } from "../protocol/step.ts";
import type { ScheduleStore } from "./schedules.ts";

export interface CallOptions {
  /** The call's own deadline, ms from now by this process's clock. */
  readonly timeoutMs: number;
}

/** The caller's open transaction on the same store; each store says in its own page what it takes. */
export type Transaction = unknown;

/** How a body inside `complete` writes: the store's own transaction. */
export interface Tx {
  /** Runs one statement; `$1`, `$2` … stand for `params`. Rows are plain objects by column name. */
  query<Row = Record<string, unknown>>(
    text: string,
    params?: readonly unknown[],
  ): Promise<{ readonly rows: Row[] }>;
}

// --- claiming ---------------------------------------------------------------------------------------------------

export interface ClaimRequest {
  readonly owner: Owner;
  /** In the order in which they are asked; a claimer takes turns (C15). Each gets a share, what is left goes round. */
  readonly queues: readonly string[];
  /** Never more jobs than this. */
  readonly limit: number;
  /** Of a queue with a limit of its own never more than this: what waits ahead would use up its slots. Default `limit`. */
  readonly places?: number;
  /** False: leave expired leases to their owners (W7). */
  readonly takeover: boolean;
}

export interface ClaimedJob {
  readonly job: JobRecord & { readonly owner: Owner };
  /** What goes to destinations: on the resource's line when the run holds one. */
  readonly token: FencingToken;
  readonly previous: Previous | undefined;
  /** Where the queue has a `concurrency`: a named lease of its own, to be renewed with the job and released after it. */
  readonly slot?: Slot;
}

export interface Claimed {
  readonly jobs: readonly ClaimedJob[];
  /** Expired jobs that this claim ended instead (C12, C13); outside `limit`. */
  readonly ended: readonly JobRecord[];
  /**
   * Ms until the next delayed job of these queues is due by store time, or a rate allows the next; undefined when neither
   * is known. For sleeping.
   */
  readonly nextDueInMs: number | undefined;
}

// --- writes of a run --------------------------------------------------------------------------------------------

/** What a run may write besides its end, under the same condition. */
export type RunWrite =
  | { readonly fence: Fence /** JSON text. */; readonly progress: string }
  | { readonly fence: Fence; readonly log: string }
  | StepWrite;

export interface RunWritten {
  readonly outcome: "applied";
}

/** `already` and `conflict` are answers to steps alone: the record is there, by this write or by another. */
export type RunWriteAnswer = RunWritten | StepConflict | Refusal | Busy;

/** What `outcome(fence)` found (C11); it writes nothing. */
export type FenceOutcome =
  | { readonly outcome: "settled"; readonly operation: SettleOperation }
  | { readonly outcome: "current" }
  | Exclude<Refusal, { readonly outcome: "already" }>;

// --- named leases -----------------------------------------------------------------------------------------------

export interface AcquireRequest {
  readonly name: string;
  readonly owner: Owner;
  readonly leaseMs: number;
}

export type AcquireAnswer =
  | { readonly outcome: "applied"; readonly token: FencingToken; readonly previous: Previous | undefined }
  /** Held by somebody else; for so many ms yet by store time. */
  | { readonly outcome: "held"; readonly generation: Generation; readonly remainingMs: number };

// --- reading ----------------------------------------------------------------------------------------------------

export interface ListFilter {
  readonly queue?: string;
  readonly name?: string;
  readonly states?: readonly JobState[];
  readonly uniqueKey?: string;
  readonly resource?: string;
}

export interface Page {
  /** Newest first. */
  readonly jobs: readonly JobRecord[];
  /** Pass it as `before` to get the next page; undefined when there is none. */
  readonly before: number | undefined;
}

export interface QueueCounts {
  readonly queue: string;
  readonly paused: boolean;
  /** Null: none. */
  readonly limit: QueueLimit | null;
  /** Ready, due or not. `delayed` are those of them that are not due yet, `blocked` those that wait for other jobs. */
  readonly ready: number;
  readonly delayed: number;
  readonly blocked: number;
  /** Leased, `expired` being those of them whose lease has lapsed. */
  readonly leased: number;
  readonly expired: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
}

// --- wake-ups ---------------------------------------------------------------------------------------------------

/** Tells that something may have become due. A hint: polling is what correctness rests on. */
export interface Listener {
  /**
   * Says that the caller is about to look and, finding nothing, to sleep. A wake-up for anything committed after this
   * call reaches `onWake`, or that of another who has room for it; one from during the look is not lost.
   */
  arm(): void;
  close(): void;
}

/** What somebody who sleeps would take. */
export interface Taker {
  readonly queues: readonly string[];
  /** For how many jobs it has room now. */
  room(): number;
}

/** How a renewer thread opens its own connection: it imports `module` and calls its `openRenewal(options)`. */
export interface RenewalThreadSpec {
  readonly module: URL;
  readonly options: Readonly<Record<string, unknown>>;
}

/** What a renewer needs of a store, also in a thread of its own. */
export interface RenewalStore {
  renew(fences: readonly Fence[], options: CallOptions): Promise<readonly (Renewed | Refusal | Busy)[]>;
  renewLeases(
    fences: readonly NamedFence[],
    options: CallOptions,
  ): Promise<readonly (Renewed | NamedLeaseRefusal | Busy)[]>;
  close(): Promise<void>;
}

// --- order ------------------------------------------------------------------------------------------------------

/** Who waits for whom. What is written about it comes with `enqueue` and with the end of each job. */
export interface Order {
  /** What a job waits for; undefined when there is no such job. */
  waits(id: JobId, options: CallOptions): Promise<Waits | undefined>;
  /** Undefined when there is no batch of this name (any more). */
  batch(name: string, options: CallOptions): Promise<BatchCounts | undefined>;
}

// --- the store --------------------------------------------------------------------------------------------------

export interface Store extends RenewalStore {
  /** For people: `sqlite ./leasehold.db`. */
  readonly description: string;

  readonly schedules: ScheduleStore;

  /** Opens and, unless told otherwise, migrates. Called by every other method; calling it again is fine. */
  open(): Promise<void>;

  /**
   * C1, C17. With `tx` the jobs are written by the caller's open transaction, and are there when it commits.
   *
   * @throws {UnknownJobError} a job is to run after one that is neither there nor stands before it in this call
   * @throws {BatchSealedError} the batch takes no new members, or has a `then` already
   */
  enqueue(
    jobs: readonly NewJob[],
    options: CallOptions & { readonly tx?: Transaction },
  ): Promise<readonly EnqueueAnswer[]>;

  /** C2, C12. */
  claim(request: ClaimRequest, options: CallOptions): Promise<Claimed>;

  /** C6 to C8, mixed in one batch. */
  settle(
    settlements: readonly Settlement[],
    options: CallOptions,
  ): Promise<readonly (SettledAnswer | Refusal | Busy)[]>;

  /**
   * C10: `body` and the completion in one short transaction. It resolves only when both are committed.
   *
   * @throws {StaleLeaseError | AlreadySettledError | GoneError} refused as a whole; what `body` wrote is rolled back
   */
  completeWith(fence: Fence, body: (tx: Tx) => Promise<string | null>, options: CallOptions): Promise<void>;

  /** Progress, logs and steps (C8's last sentence). */
  write(writes: readonly RunWrite[], options: CallOptions): Promise<readonly RunWriteAnswer[]>;

  /** C11: what became of the fence. */
  outcome(fence: Fence, options: CallOptions): Promise<FenceOutcome>;

  /** C19. */
  heal(fence: Fence, mark: Generation, options: CallOptions): Promise<HealAnswer | Refusal | Busy>;

  // C13, C14, C18
  cancel(ids: readonly JobId[], options: CallOptions): Promise<readonly ControlAnswer[]>;
  /** `token`, when applied, may be advanced at the job's destinations. */
  revoke(
    ids: readonly JobId[],
    options: CallOptions,
  ): Promise<readonly (ControlAnswer & { readonly token?: FencingToken })[]>;
  retry(ids: readonly JobId[], again: boolean, options: CallOptions): Promise<readonly ControlAnswer[]>;
  /** What an operator has found out about a step of the present run; never of a leased job. */
  resolveStep(
    id: JobId,
    step: string,
    resolution: StepResolution,
    options: CallOptions,
  ): Promise<StepResolved>;
  delete(ids: readonly JobId[], options: CallOptions): Promise<readonly ControlAnswer[]>;
  /**
   * Removes ended jobs older than the given ages (store time) with their steps, at most `limit` and fewer when they have
   * very many, and unheld leases as old; how many jobs went.
   */
  prune(
    ages: { readonly completedMs: number; readonly failedMs: number },
    limit: number,
    options: CallOptions,
  ): Promise<number>;

  // Named leases. One held for a job is not to be renewed, released or deleted here.
  acquire(request: AcquireRequest, options: CallOptions): Promise<AcquireAnswer>;
  release(
    fences: readonly NamedFence[],
    options: CallOptions,
  ): Promise<readonly ({ readonly outcome: "applied" } | NamedLeaseRefusal | Busy)[]>;
  /** C19 for one that is held by name: it is free afterwards, and its next generation lies above the mark. */
  healLease(
    fence: NamedFence,
    mark: Generation,
    options: CallOptions,
  ): Promise<HealLeaseAnswer | NamedLeaseRefusal | Busy>;
  /** Only one that nobody holds; its generation goes into the floor. */
  deleteLease(
    name: string,
    options: CallOptions,
  ): Promise<{ readonly outcome: "applied" | "conflict" | "gone" }>;
  getLease(name: string, options: CallOptions): Promise<NamedLease | undefined>;

  // Reading
  get(ids: readonly JobId[], options: CallOptions): Promise<readonly (JobRecord | undefined)[]>;
  list(
    filter: ListFilter,
    page: { readonly limit: number; readonly before?: number },
    options: CallOptions,
  ): Promise<Page>;
  counts(options: CallOptions): Promise<readonly QueueCounts[]>;
  /** Those of one run number, or of the job's present one, in the order in which they began; none for no job. */
  steps(id: JobId, run: number | "present", options: CallOptions): Promise<readonly StepRecord[]>;
  /** Oldest first. */
  journal(line: string, options: CallOptions): Promise<readonly JournalEntry[]>;
  /** Store time, for display only (T4). */
  nowMs(options: CallOptions): Promise<number>;

  /** Paused queues are skipped by claims; what is leased goes on. The queue need not exist yet. */
  pause(queue: string, paused: boolean, options: CallOptions): Promise<void>;

  /**
   * How many of the queue's jobs run, and begin, over all workers; null for any number. It holds for every claim after
   * this one; what is leased goes on. The queue need not exist yet.
   */
  limitQueue(queue: string, limit: QueueLimit | null, options: CallOptions): Promise<void>;

  /** Section 1, *Floor*: after a restore from a copy. Leases granted before are stale from then on. */
  raiseFloor(options: CallOptions): Promise<{ readonly epoch: number }>;

  /** What `open` would run, as SQL texts by version; nothing is run. Empty for a store without a schema. */
  pendingMigrations(): Promise<readonly { readonly version: number; readonly sql: string }[]>;

  /**
   * Wakes whoever sleeps, here and in other processes. Takers are woken as far as their room is needed for what has become due,
   * and by turns; when one that was woken does not claim, the next one is, within tens of ms, or looks by itself.
   *
   * @param taker without it, every ring wakes
   */
  listen(onWake: () => void, taker?: Taker): Listener;

  readonly order: Order;

  /** Undefined when renewal must be inline (W2): live handles, in memory. */
  readonly renewalThread: RenewalThreadSpec | undefined;
}
