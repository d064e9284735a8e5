/** C17. */

import { type EnqueueAnswer, type NewJob, onKeyTaken, replacedBy } from "../../protocol/enqueue.ts";
import { type JobId, jobLine } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import { note } from "./journal.ts";
import { type Candidate, type NewRow, putLongInput } from "./new-row.ts";
import { follow } from "./order.ts";
import { PHASE } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { findJob, saveJob } from "./transition.ts";

/** A job with a key: looks for the live job that holds it, and does what the caller wants then (C17). */
export function enqueueUnique(statements: Statements, { job, row }: Candidate, nowMs: number): EnqueueAnswer {
  const repeated = job.mayRepeat ? findJob(statements, job.jobId) : undefined;
  if (repeated !== undefined) {
    const { jobId, state, endReason } = repeated;
    return { outcome: "repeated", jobId, state, endReason };
  }
  const holder = findHolder(statements, job);
  if (holder === undefined) return add(statements, job, row, nowMs);
  const { jobId, state } = holder;
  switch (onKeyTaken(holder, job.unique?.onConflict ?? "throw")) {
    case "conflict":
      return { outcome: "conflict", jobId, state };
    case "keep":
      return { outcome: "kept", jobId, state };
    case "change":
      changeInPlace(statements, holder, job, row, nowMs);
      return { outcome: "replaced", jobId };
    case "end": {
      saveJob(statements, holder, replacedBy(holder, nowMs));
      // One that was blocked behind it has the key now, and is changed in its place.
      const next = findHolder(statements, job);
      if (next === undefined) return { ...add(statements, job, row, nowMs), ended: jobId };
      changeInPlace(statements, next, job, row, nowMs);
      return { outcome: "replaced", jobId: next.jobId };
    }
    case "follow": {
      const behind = findBy(statements, "find follower", job);
      if (behind === undefined) {
        const answer = add(statements, job, { ...row, phase: PHASE.following, blocked_by: 1 }, nowMs);
        follow(statements, job.jobId, holder.seq);
        return { ...answer, behind: jobId };
      }
      changeInPlace(statements, behind, job, row, nowMs);
      return { outcome: "replaced", jobId: behind.jobId };
    }
  }
}

function add(
  statements: Statements,
  job: NewJob,
  row: NewRow,
  nowMs: number,
): EnqueueAnswer & { outcome: "enqueued" } {
  statements.run("enqueue one", { ...row, now: nowMs });
  putLongInput(statements, job);
  return { outcome: "enqueued", jobId: job.jobId };
}

function findHolder(statements: Statements, job: NewJob): JobRecord | undefined {
  return findBy(statements, "find holder of key", job);
}

function findBy(
  statements: Statements,
  statement: "find holder of key" | "find follower",
  job: NewJob,
): JobRecord | undefined {
  const row = statements.get<{ job_id: JobId }>(statement, {
    name: job.name,
    unique_key: job.unique?.key ?? null,
  });
  return row === undefined ? undefined : findJob(statements, row.job_id);
}

function changeInPlace(
  statements: Statements,
  holder: JobRecord,
  job: NewJob,
  row: NewRow,
  nowMs: number,
): void {
  const { job_id, name, unique_key, blocked_by, tail, ...changed } = row;
  statements.run("replace waiting", { ...changed, seq: holder.seq });
  statements.run("drop long input", { seq: holder.seq });
  putLongInput(statements, { ...job, jobId: holder.jobId });
  const { generation } = holder;
  note(statements, jobLine(holder.jobId), [{ kind: "replaced", atMs: nowMs, owner: null, generation }]);
}
