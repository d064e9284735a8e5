/** A job that is about to be written, as columns. */

import { type NewJob, replaceable } from "../../protocol/enqueue.ts";
import { PHASE } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** Longest input kept in the row itself, in UTF-16 units: every claim and settling rewrites the row. */
export const INLINE_INPUT = 512;

export interface NewRow {
  readonly [column: string]: unknown;
}

/** Every column of a new row but its id and input. */
export type RowSettings = NewRow;

/** @param batch the id of the one that it is a member of */
export function rowOf(job: NewJob, queue: number, nowMs: number, batch: number | null): NewRow {
  const { runAtMs, uniqueKey } = replaceable(job, nowMs);
  // By how many it is blocked is told once they are all there; at the end of a batch, by that one alone.
  const isThen = job.batch?.as === "then";
  const isBlocked = job.after != null || isThen;
  return {
    ...settingsOf(job, queue, batch),
    job_id: job.jobId,
    phase: isBlocked ? PHASE.blocked : runAtMs === null ? PHASE.ready : PHASE.delayed,
    run_at: runAtMs,
    resource: job.resource,
    unique_key: uniqueKey,
    input: job.input.length > INLINE_INPUT ? null : job.input,
    blocked_by: isThen ? 1 : 0,
  };
}

/** Of a job that is due now, and without key, resource or predecessors. */
export function settingsOf(job: NewJob, queue: number, batch: number | null): RowSettings {
  return {
    name: job.name,
    queue,
    priority: job.priority,
    phase: PHASE.ready,
    run_at: null,
    lease_ms: job.leaseMs,
    max_attempts: job.maxAttempts,
    max_run_ms: job.maxRunMs,
    backoff: job.backoff === null ? null : JSON.stringify(job.backoff),
    resource: null,
    unique_key: null,
    blocked_by: 0,
    tail: batch,
  };
}

/** A member of an `enqueue` call; its row may yet be told to wait. */
export interface Candidate {
  readonly job: NewJob;
  readonly index: number;
  row: NewRow;
}

/** Behind the row, which must be there. */
export function putLongInput(statements: Statements, job: NewJob): void {
  if (job.input.length > INLINE_INPUT) {
    statements.run("put long input", { job_id: job.jobId, input: job.input });
  }
}
