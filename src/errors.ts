/**
 * Every error that Leasehold throws on purpose. Three kinds are kept apart: a *refusal* (expected, part of the
 * protocol), an *unknown outcome* (no answer came: it may have happened), and bad input or a broken environment (says
 * what was received and what to do). `docs/reference/errors.md` lists them all, and a test holds the two together.
 */

import type { Fence, FencingToken, Generation, JobId, Line, Owner } from "./protocol/identity.ts";
import type { JobState } from "./protocol/job.ts";
import type { StaleReason } from "./protocol/outcome.ts";

export interface LeaseholdErrorOptions {
  /** What the reader can do now. */
  readonly next: string;
  readonly cause?: unknown;
}

/** The base of all of them: a stable `code`, and `next`, which says what to do. */
export abstract class LeaseholdError extends Error {
  abstract readonly code: string;
  readonly next: string;

  constructor(message: string, options: LeaseholdErrorOptions) {
    super(
      options.next === "" ? message : `${message} ${options.next}`,
      options.cause === undefined ? {} : { cause: options.cause },
    );
    this.name = new.target.name;
    this.next = options.next;
  }
}

// --- refusals ---------------------------------------------------------------------------------------------------

/** The fence is no longer the current owner's: the store refused the write, and nothing was written (C9). */
export class StaleLeaseError extends LeaseholdError {
  readonly code = "LH_STALE_LEASE";
  readonly line: Line;
  /** The generation that was shown. */
  readonly generation: Generation;
  /** The generation that is current. */
  readonly current: Generation;
  readonly reason: StaleReason | "lost";

  constructor(
    token: { readonly line: Line; readonly generation: Generation },
    current: Generation,
    reason: StaleReason | "lost",
    operation: string,
  ) {
    super(
      `${token.line}: ${operation} with generation ${token.generation} refused as stale (${reason}), the current generation is ${current}.`,
      { next: "Stop and discard the result: the current owner has the outcome. Do not repeat the call." },
    );
    this.line = token.line;
    this.generation = token.generation;
    this.current = current;
    this.reason = reason;
  }
}

/** In a caller's transaction: this fence had done the same before (C10). The transaction must be rolled back. */
export class AlreadySettledError extends LeaseholdError {
  readonly code = "LH_ALREADY_SETTLED";
  readonly fence: Fence;

  constructor(fence: Fence, operation: string) {
    super(
      `Job ${fence.jobId}: ${operation} had been done before by this owner with generation ${fence.generation}.`,
      {
        next: "The first one counts, with its writes; this transaction was not applied.",
      },
    );
    this.fence = fence;
  }
}

/** No record of the job or lease, live or in history. */
export class GoneError extends LeaseholdError {
  readonly code = "LH_GONE";

  constructor(what: string) {
    super(`${what} does not exist: it never did, or it was deleted or pruned.`, {
      next: "Check the id; ended jobs are kept for retentionMs only.",
    });
  }
}

/** The lease may not be trusted at this moment by its owner's own clocks (T2, T3): no guarded effect may start. */
export class LeaseNotTrustedError extends LeaseholdError {
  readonly code = "LH_LEASE_NOT_TRUSTED";
  readonly token: FencingToken;

  constructor(token: FencingToken, why: string) {
    super(`${token.line}: the lease with generation ${token.generation} cannot be trusted: ${why}.`, {
      next: "Start no further effect; return or throw, and let the current owner go on.",
    });
    this.token = token;
  }
}

/** A unique key is held by another live job, and the caller asked for `onConflict: "throw"` (C17). */
export class UniqueConflictError extends LeaseholdError {
  readonly code = "LH_UNIQUE_CONFLICT";
  readonly jobId: JobId;
  readonly state: JobState;

  constructor(name: string, key: string, jobId: JobId, state: JobState) {
    super(`${name}: the unique key ${JSON.stringify(key)} is held by job ${jobId}, which is ${state}.`, {
      next: `Use that job, or enqueue with onConflict "keep", "replace" or "followUp".`,
    });
    this.jobId = jobId;
    this.state = state;
  }
}

/** A job was to run after one that the store does not know. Nothing was written. */
export class UnknownJobError extends LeaseholdError {
  readonly code = "LH_UNKNOWN_JOB";
  /** The job that is not known. */
  readonly jobId: JobId;

  constructor(waiting: JobId, unknown: JobId) {
    super(`Job ${waiting} is to run after job ${unknown}, which is not there.`, {
      next: "It never was, was deleted or pruned, or comes later in the same call: enqueue it first.",
    });
    this.jobId = unknown;
  }
}

/** The batch has its `then`, so it takes no new members. Nothing was written. */
export class BatchSealedError extends LeaseholdError {
  readonly code = "LH_BATCH_SEALED";
  readonly batch: string;

  constructor(batch: string) {
    super(`Batch ${JSON.stringify(batch)} has its \`then\` already.`, {
      next: "Give `then` with the last call that adds to a batch, or use another name.",
    });
    this.batch = batch;
  }
}

/** The named lease was not free within `waitMs`. */
export class LeaseHeldError extends LeaseholdError {
  readonly code = "LH_LEASE_HELD";
  readonly lease: string;
  /** For how many ms the present holder's lease still runs, by store time. */
  readonly remainingMs: number;

  constructor(lease: string, remainingMs: number, waitedMs: number) {
    super(
      `Lease ${JSON.stringify(lease)} is held for another ${remainingMs} ms; waited ${waitedMs} ms for it.`,
      {
        next: "Try later, or give a longer waitMs.",
      },
    );
    this.lease = lease;
    this.remainingMs = remainingMs;
  }
}

// --- reasons of an AbortSignal (W3) -----------------------------------------------------------------------------

/** Why a handler's signal fired. */
export type EndOfTrust =
  | "lease_expired"
  | "lease_superseded"
  | "cancelled"
  | "revoked"
  | "max_run"
  | "shutdown";

const END_OF_TRUST: Record<EndOfTrust, string> = {
  lease_expired: "the lease ended before it could be renewed",
  lease_superseded: "another owner has claimed since",
  cancelled: "the job was cancelled",
  revoked: "an operator revoked the lease",
  max_run: "the run took longer than maxRunMs",
  shutdown: "the worker is stopping and the grace is over",
};

/** The `reason` of a run's or lease's `AbortSignal`; `reason.reason` tells the kinds apart. */
export class LeaseEndedError extends LeaseholdError {
  readonly code = "LH_LEASE_ENDED";
  readonly reason: EndOfTrust;
  readonly token: FencingToken;

  constructor(reason: EndOfTrust, token: FencingToken) {
    super(`${token.line}: generation ${token.generation}: ${END_OF_TRUST[reason]}.`, {
      next: "Start no further effect and return soon; the store and fenced destinations refuse late ones.",
    });
    this.reason = reason;
    this.token = token;
  }
}

// --- unknown outcomes and stores out of reach -------------------------------------------------------------------

/**
 * No answer came, or one that does not count: the operation may have happened (C11, D5). Never "failed", never "lost".
 */
export class UnknownOutcomeError extends LeaseholdError {
  readonly code = "LH_UNKNOWN_OUTCOME";
  readonly operation: string;

  constructor(
    operation: string,
    cause: unknown,
    {
      who = "the store",
      next = "Repeat it with the same ids and fences, or ask outcome()",
    }: { readonly who?: string; readonly next?: string } = {},
  ) {
    super(`${operation}: ${who} gave no usable answer, so it may or may not have happened.`, {
      next: `${next}; do not take it for a failure.`,
      cause,
    });
    this.operation = operation;
  }
}

/** What is known of a step that was begun and has no end. */
export interface BegunStep {
  readonly jobId: JobId;
  /** The job's run number. */
  readonly run: number;
  readonly step: string;
  /** D4's key, which the step's effect was to carry: `job:<job_id>/<run>/<step>`. */
  readonly key: string;
  /** Who began it. */
  readonly owner: Owner | null;
  readonly generation: Generation;
  readonly attempt: number;
  /** Store time, ms since 1970, for display. */
  readonly begunAtMs: number;
}

/**
 * A step was begun by an earlier attempt, and nobody knows whether it happened: the process died in it, or was told to stop,
 * or no usable answer came. Trying again would meet it again, so a handler that lets this out fails its job for good.
 */
export class StepUnknownError extends LeaseholdError {
  readonly code = "LH_STEP_UNKNOWN";
  readonly begun: BegunStep;

  constructor(begun: BegunStep) {
    const { jobId, run, step, attempt, generation } = begun;
    super(
      `Job ${jobId}, run ${run}: the step ${JSON.stringify(step)} was begun in attempt ${attempt} with generation ${generation} and has no end: it may or may not have happened.`,
      {
        next: "Find out whether it did, say so with leasehold resolve-step, then retry the job; or give the step onUnknown.",
      },
    );
    this.begun = begun;
  }
}

/** A name that stood for one step of this execution already: a later attempt could not tell the two apart. */
export class StepRepeatedError extends LeaseholdError {
  readonly code = "LH_STEP_REPEATED";
  readonly step: string;

  constructor(jobId: JobId, step: string) {
    super(`Job ${jobId}: the step ${JSON.stringify(step)} stands twice in one execution.`, {
      next: "Give each step a name of its own that is the same in every attempt, such as `page 3` in a loop.",
    });
    this.step = step;
  }
}

/** The store refused for now and certainly did nothing: its lock was not to be had before the call's deadline. */
export class StoreBusyError extends LeaseholdError {
  readonly code = "LH_STORE_BUSY";

  constructor(operation: string, waitedMs: number, cause?: unknown) {
    super(
      `${operation}: the store was busy or out of reach for ${Math.round(waitedMs)} ms${causeOf(cause)}; nothing was written.`,
      {
        next: "Repeat the call; if it happens often, look for a long transaction on the store or raise callTimeoutMs.",
        cause,
      },
    );
  }
}

/** The store cannot be used as it is: no rights, full disk, wrong file, wrong version of the engine. */
export class StoreUnusableError extends LeaseholdError {
  readonly code = "LH_STORE_UNUSABLE";
}

/** The schema in the store is not one that this version can work with. */
export class SchemaVersionError extends LeaseholdError {
  readonly code = "LH_SCHEMA_VERSION";
  readonly found: number;
  readonly known: number;

  constructor(found: number, known: number, store: string) {
    super(
      found > known
        ? `${store} has schema ${found}, and this version of leasehold knows schemas up to ${known}.`
        : `${store} has schema ${found}, and this version of leasehold needs ${known}.`,
      {
        next:
          found > known
            ? "Install the version that migrated it, or a newer one; nothing was changed."
            : "Run `leasehold migrate`, or open the store with migrate: true.",
      },
    );
    this.found = found;
    this.known = known;
  }
}

/** The handle, worker or store was closed before the call. */
export class ClosedError extends LeaseholdError {
  readonly code = "LH_CLOSED";

  constructor(what: string) {
    super(`${what} is closed.`, { next: "Make a new one; a closed one cannot be opened again." });
  }
}

// --- bad input --------------------------------------------------------------------------------------------------

/** An argument or option cannot be used; nothing was written. */
export class InvalidArgumentError extends LeaseholdError {
  readonly code = "LH_INVALID_ARGUMENT";
  readonly argument: string;
  readonly received: unknown;

  constructor(argument: string, received: unknown, expected: string) {
    super(`${argument}: received ${shown(received)}.`, { next: `Give ${expected}.` });
    this.argument = argument;
    this.received = received;
  }
}

/** A value would not survive as JSON; nothing was written. */
export class UnstorableValueError extends LeaseholdError {
  readonly code = "LH_UNSTORABLE_VALUE";
  /** Where in the value, as in `input.items[3].name`. */
  readonly path: string;

  constructor(path: string, problem: string, next: string) {
    super(`${path}: ${problem}.`, { next });
    this.path = path;
  }
}

/** An input or result does not fit the job's schema. */
export class SchemaMismatchError extends LeaseholdError {
  readonly code = "LH_SCHEMA_MISMATCH";
  readonly issues: readonly { readonly path: string; readonly message: string }[];

  constructor(
    jobName: string,
    what: "input" | "result",
    issues: readonly { readonly path: string; readonly message: string }[],
  ) {
    const list = issues.map((issue) => `${issue.path}: ${issue.message}`).join("; ");
    super(`${jobName}: the ${what} does not fit its schema: ${list}.`, {
      next: `Correct the ${what}, or the schema.`,
    });
    this.issues = issues;
  }
}

/** A transaction that does not belong to this store, or that is not open. */
export class InvalidTransactionError extends LeaseholdError {
  readonly code = "LH_INVALID_TRANSACTION";
}

/** A body awaited something other than its `tx`, so its transaction was rolled back. */
export class TransactionBodyError extends LeaseholdError {
  readonly code = "LH_TRANSACTION_BODY";

  /** @param of what the body was given to */
  constructor(of: string) {
    super(`The body of ${of} was still pending when its turn of the event loop ended; it was rolled back.`, {
      next: "Do the slow work first, and await nothing but tx inside the body.",
    });
  }
}

/** Throw this from a handler to fail the job for good: no further attempt is made. Its message stays as it is given. */
export class FinalError extends LeaseholdError {
  readonly code = "LH_FINAL";

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, { next: "", ...options });
  }
}

/** The awaited job did not end in time; it goes on. */
export class WaitTimeoutError extends LeaseholdError {
  readonly code = "LH_WAIT_TIMEOUT";

  constructor(what: string, timeoutMs: number) {
    super(`${what} did not end within ${timeoutMs} ms.`, {
      next: "It goes on; wait again, or look with get().",
    });
  }
}

/** The awaited job ended otherwise than completed; `cause` is the last attempt's error, as far as it was stored. */
export class JobNotCompletedError extends LeaseholdError {
  readonly code = "LH_JOB_NOT_COMPLETED";
  readonly state: JobState;

  constructor(jobId: JobId, state: JobState, why: string, cause?: Error) {
    const last = cause === undefined ? "" : `: ${cause.message.replace(/[.]$/, "")}`;
    super(`Job ${jobId} ended as ${state}${why === "" ? "" : ` (${why})`}${last}.`, {
      next: "Its journal tells the story: leasehold show ID.",
      cause,
    });
    this.state = state;
  }
}

/** What the driver said, in brackets. */
function causeOf(cause: unknown): string {
  const { message, code } = (cause ?? {}) as { message?: unknown; code?: unknown };
  const said = message === undefined || message === "" ? code : message;
  return said === undefined ? "" : ` (${String(said)})`;
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object";
  if (typeof value === "function") return "a function";
  return String(value);
}
