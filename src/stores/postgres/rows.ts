/** Between rows and the records of the protocol core. */

import type { NewJob } from "../../protocol/enqueue.ts";
import { type Generation, generation, type JobId, type Line, type Owner } from "../../protocol/identity.ts";
import {
  type EndReason,
  isEnded,
  type JobRecord,
  type JobState,
  type RaisedBy,
  type SettleOperation,
} from "../../protocol/job.ts";
import type { JournalEntry, JournalKind } from "../../protocol/journal.ts";
import type { NamedLease } from "../../protocol/named-lease.ts";
import type { Backoff } from "../../protocol/retry.ts";
import type { Row } from "./statements.ts";

/** A client that the caller brings may hand big integers over as texts. */
function number(row: Row, column: string): number {
  return Number(row[column]);
}

function numberOrNull(row: Row, column: string): number | null {
  return row[column] == null ? null : Number(row[column]);
}

function textOrNull<T extends string = string>(row: Row, column: string): T | null {
  return (row[column] as T | null | undefined) ?? null;
}

/** A row of the view `record`. */
export function jobFromRow(row: Row): JobRecord {
  const backoff = textOrNull(row, "backoff");
  const settledOwner = textOrNull<Owner>(row, "settled_owner");
  return {
    jobId: row["job_id"] as JobId,
    seq: number(row, "seq"),
    name: row["name"] as string,
    queue: row["queue_name"] as string,
    priority: number(row, "priority"),
    state: row["state"] as JobState,
    runAtMs: numberOrNull(row, "run_at"),
    owner: textOrNull<Owner>(row, "owner"),
    leaseUntilMs: numberOrNull(row, "lease_until"),
    leaseMs: number(row, "lease_ms"),
    generation: generation(number(row, "generation")),
    raisedBy: textOrNull<RaisedBy>(row, "raised_by"),
    attempt: number(row, "attempt"),
    maxAttempts: number(row, "max_attempts"),
    expiredCount: number(row, "expired_count"),
    run: number(row, "run"),
    heals: number(row, "heals"),
    cancelRequested: row["cancel_requested"] === true,
    resource: textOrNull(row, "resource"),
    resourceGeneration: numberOrNull(row, "resource_generation") as Generation | null,
    uniqueKey: textOrNull(row, "unique_key"),
    blockedBy: number(row, "blocked_by"),
    maxRunMs: numberOrNull(row, "max_run_ms"),
    backoff: backoff === null ? null : (JSON.parse(backoff) as Backoff),
    input: row["input"] as string,
    result: textOrNull(row, "result"),
    error: textOrNull(row, "error"),
    progress: textOrNull(row, "progress"),
    createdAtMs: number(row, "created_at"),
    claimedAtMs: numberOrNull(row, "claimed_at"),
    finishedAtMs: numberOrNull(row, "finished_at"),
    endReason: textOrNull<EndReason>(row, "end_reason"),
    settled:
      settledOwner === null
        ? null
        : {
            owner: settledOwner,
            generation: number(row, "settled_generation") as Generation,
            operation: row["settled_operation"] as SettleOperation,
          },
  };
}

/** The parameter of `save job`, `end job` and `revive job`, which write `after` in the place of `before`. */
export function savedJob(before: JobRecord, after: JobRecord): string {
  // Others may have waited for its resource for longer, or be more urgent.
  const waiting = before.resource !== null && after.state === "ready" && after.runAtMs === null;
  return JSON.stringify({
    job_id: before.jobId,
    expected_owner: before.owner,
    expected_generation: before.generation,
    ready: !waiting && (after.state === "leased" || after.runAtMs === null),
    waiting,
    state: after.state,
    end_reason: after.endReason,
    run_at: after.runAtMs,
    owner: after.owner,
    lease_until: after.leaseUntilMs,
    generation: after.generation,
    raised_by: after.raisedBy,
    attempt: after.attempt,
    expired_count: after.expiredCount,
    run: after.run,
    heals: after.heals,
    cancel_requested: after.cancelRequested,
    resource_generation: after.resourceGeneration,
    result: after.result,
    error: after.error,
    progress: after.progress,
    finished_at: isEnded(after) ? after.finishedAtMs : null,
    settled_owner: after.settled?.owner ?? null,
    settled_generation: after.settled?.generation ?? null,
    settled_operation: after.settled?.operation ?? null,
  });
}

/** A job with what it waits for. */
export interface PlacedJob extends NewJob {
  /** Null: by nobody. */
  readonly blockedBy?: number | null;
  /** Null: its end concerns nobody; else the id of its batch. */
  readonly tail?: number | null;
}

/** A job as `enqueue` and `replace waiting` take it; the store's clock decides when it is due. */
export function newRow(job: PlacedJob, n = 0, waits = false): Row {
  return {
    n,
    job_id: job.jobId,
    name: job.name,
    queue: job.queue,
    priority: job.priority,
    ...("runAtMs" in job.due ? { run_at: job.due.runAtMs } : { delay_ms: job.due.delayMs }),
    lease_ms: job.leaseMs,
    max_attempts: job.maxAttempts,
    max_run_ms: job.maxRunMs,
    backoff: job.backoff === null ? null : JSON.stringify(job.backoff),
    resource: job.resource,
    ...(waits ? { waits } : {}),
    unique_key: job.unique?.key ?? null,
    input: job.input,
    ...(job.blockedBy == null ? {} : { blocked_by: job.blockedBy }),
    ...(job.tail == null ? {} : { tail: job.tail }),
  };
}

export function leaseFromRow(row: Row): NamedLease {
  return {
    name: row["name"] as string,
    owner: textOrNull<Owner>(row, "owner"),
    leaseUntilMs: numberOrNull(row, "lease_until"),
    leaseMs: number(row, "lease_ms"),
    generation: generation(number(row, "generation")),
    heldFor: textOrNull<JobId>(row, "held_for"),
    lastOwner: textOrNull<Owner>(row, "last_owner"),
    heals: number(row, "heals"),
  };
}

/** @param claimedAtMs null: as it is */
export function savedLease(
  lease: NamedLease,
  claimedAtMs: number | null,
  releasedAtMs: number | null,
): string {
  return JSON.stringify({
    name: lease.name,
    owner: lease.owner,
    lease_until: lease.leaseUntilMs,
    lease_ms: lease.leaseMs,
    generation: lease.generation,
    held_for: lease.heldFor,
    last_owner: lease.lastOwner,
    heals: lease.heals,
    claimed_at: claimedAtMs,
    released_at: releasedAtMs,
  });
}

export function entryFromRow(row: Row, line: Line): JournalEntry {
  const current = numberOrNull(row, "current") as Generation | null;
  const operation = textOrNull(row, "operation");
  const message = textOrNull(row, "message");
  const count = number(row, "count");
  return {
    line,
    kind: row["kind"] as JournalKind,
    atMs: number(row, "at"),
    owner: textOrNull<Owner>(row, "owner"),
    generation: generation(number(row, "generation")),
    ...(current === null ? {} : { current }),
    ...(operation === null ? {} : { operation }),
    ...(message === null ? {} : { message }),
    ...(count === 1 ? {} : { count }),
  };
}
