/** Refusals: expected, part of the protocol. Nothing was written. */

import type { Fence, FencingToken, Generation, JobId, Line } from "../protocol/identity.ts";
import type { JobState } from "../protocol/job.ts";
import type { StaleReason } from "../protocol/outcome.ts";
import { LeaseholdError } from "./leasehold-error.ts";

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
