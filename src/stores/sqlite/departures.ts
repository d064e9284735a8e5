/** What the end of a job means to others: those that wait for it are freed or fail, and its batch counts it. */

import { type Departure, failedByDependency, type OnFailure, onDeparture } from "../../protocol/blocking.ts";
import { isEnded, type JobRecord } from "../../protocol/job.ts";
import { type EndCount, EndCounts } from "./end-counts.ts";
import { queueId } from "./queues.ts";
import { jobFromRow, jobParameters } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** How many waiting jobs one transaction frees or fails; a sweep goes on with the rest. */
const FREED_AT_ONCE = 500;
/** How many of the jobs that it left one sweep goes on with. */
const DEPARTED_A_SWEEP = 50;

/** A job that has gone away, whose row's `tail` was not null. */
export interface Departed {
  readonly seq: number;
  readonly how: Departure;
}

/**
 * After `before` was written as `after`, or deleted (undefined).
 *
 * @param tail of the row: null, 0, or its batch's id
 * @returns whether some job may have become due by it
 */
export function onEnd(
  statements: Statements,
  before: JobRecord,
  after: JobRecord | undefined,
  tail: number | null,
  nowMs: number,
): boolean {
  const [was, is] = [isEnded(before), after === undefined || isEnded(after)];
  if (before.blockedBy > 0 && is) statements.run("drop dependencies of", { job: before.seq });
  if (tail === null) return false;
  const counts = new BatchEnds();
  if (!was && is) counts.add(tail, after === undefined ? "cancelled" : (after.state as EndCount), 1);
  else if (was && !is) counts.add(tail, before.state as EndCount, -1);
  const how = after === undefined ? "deleted" : (after.state as Departure);
  if (is) depart(statements, [{ seq: before.seq, how }], nowMs, counts);
  counts.write(statements, nowMs);
  return is;
}

/**
 * One after the other, however long the line of failures is, and not more than a bounded number in one transaction.
 * Their own ends must have been written: a follow-up takes its key over from the job that had it.
 */
export function depart(
  statements: Statements,
  departed: readonly Departed[],
  nowMs: number,
  batches: BatchEnds = new BatchEnds(),
): void {
  const line = [...departed];
  const ends = new EndCounts();
  let left = FREED_AT_ONCE;
  for (let next = line.shift(); next !== undefined; next = line.shift()) {
    const { seq, how } = next;
    if (left === 0) {
      statements.run("note unfreed", { seq, how });
      continue;
    }
    const waiting = statements.all<{ job: number; on_failure: OnFailure }>("waiting behind", {
      seq,
      all: how === "completed" || how === "deleted" ? 1 : 0,
      limit: left,
    });
    for (const { job, on_failure } of waiting) {
      if (onDeparture(how, on_failure) === "free") {
        statements.run("drop dependency", { after: seq, job });
        statements.run("free", { seq: job });
      } else if (failJob(statements, job, nowMs, ends, batches)) {
        line.push({ seq: job, how: "failed" });
      }
    }
    left -= waiting.length;
    if (left === 0) statements.run("note unfreed", { seq, how });
  }
  ends.write(statements);
  if (departed.length > 0) batches.write(statements, nowMs);
}

/** @returns whether somebody waits for it in turn */
function failJob(
  statements: Statements,
  seq: number,
  nowMs: number,
  ends: EndCounts,
  batches: BatchEnds,
): boolean {
  statements.run("drop dependencies of", { job: seq });
  const row = statements.get("find job by seq", { seq });
  if (row === undefined) return false;
  const job = jobFromRow(row);
  const saved = statements.get<{ tail: number | null }>(
    "save job",
    jobParameters(job, failedByDependency(job, nowMs)),
  );
  ends.add(queueId(statements, job.queue), "failed");
  if (saved?.tail == null) return false;
  batches.add(saved.tail, "failed", 1);
  return true;
}

/** Goes on where earlier transactions stopped. */
export function freeUnfreed(statements: Statements, nowMs: number): void {
  const departed = statements.all<{ seq: number; how: Departure }>("unfreed", { limit: DEPARTED_A_SWEEP });
  for (const { seq } of departed) statements.run("drop unfreed", { seq });
  depart(statements, departed, nowMs);
}

/** The ends of members by the id of their batch, gathered over a transaction; 0 is no batch. */
export class BatchEnds {
  readonly #byBatch = new Map<number, Record<EndCount, number>>();

  add(batch: number, end: EndCount, by: number): void {
    if (batch === 0) return;
    let counts = this.#byBatch.get(batch);
    if (counts === undefined) {
      counts = { completed: 0, failed: 0, cancelled: 0 };
      this.#byBatch.set(batch, counts);
    }
    counts[end] += by;
  }

  write(statements: Statements, nowMs: number): void {
    for (const [id, counts] of this.#byBatch) countInBatch(statements, id, { total: 0, ...counts }, nowMs);
    this.#byBatch.clear();
  }
}

/** Whoever brings a batch to its end frees the job that waits for that. Under the write lock somebody is the last. */
export function countInBatch(
  statements: Statements,
  id: number,
  counts: { readonly total: number } & Record<EndCount, number>,
  nowMs: number,
): void {
  const batch = statements.get<{ then_job: number | null; ended: number }>("count in batch", {
    id,
    ...counts,
    now: nowMs,
  });
  if (batch?.then_job != null && batch.ended === 1) statements.run("free", { seq: batch.then_job });
}
