/** What people and programs ask of the store without changing it. */

import type { Fence, JobId } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import { isCurrent, refusal } from "../../protocol/outcome.ts";
import { type LimitColumns, limitFromRow } from "../limit-rows.ts";
import type { FenceOutcome, ListFilter, Page, QueueCounts } from "../store.ts";
import { readMoment } from "./moment.ts";
import { jobFromRow } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { findJob, findLease } from "./transition.ts";

export function getJobs(statements: Statements, ids: readonly JobId[]): (JobRecord | undefined)[] {
  if (ids.length === 1) return [findJob(statements, ids[0] as JobId)];
  const rows = statements.all("find jobs", { ids: JSON.stringify(ids) });
  const found = new Map(rows.map((row) => [row["job_id"], jobFromRow(row)]));
  return ids.map((id) => found.get(id));
}

export function listJobs(
  statements: Statements,
  filter: ListFilter,
  page: { readonly limit: number; readonly before?: number },
): Page {
  const rows = statements.all("list jobs", {
    filter: JSON.stringify(filter),
    before: page.before ?? Number.MAX_SAFE_INTEGER,
    limit: page.limit + 1, // one more than asked for tells whether there is a next page
  });
  const jobs = rows.slice(0, page.limit).map(jobFromRow);
  return { jobs, before: rows.length > page.limit ? jobs.at(-1)?.seq : undefined };
}

export function countQueues(statements: Statements): QueueCounts[] {
  const { nowMs } = readMoment(statements);
  return statements.all("count queues", { now: nowMs }).map((row) => ({
    queue: row["name"] as string,
    paused: row["paused"] === 1,
    limit: row["limited"] === 1 ? limitFromRow(row as unknown as LimitColumns) : null,
    ready: row["ready"] as number,
    delayed: row["delayed"] as number,
    blocked: row["blocked"] as number,
    leased: row["leased"] as number,
    expired: row["expired"] as number,
    completed: row["completed"] as number,
    failed: row["failed"] as number,
    cancelled: row["cancelled"] as number,
  }));
}

/** C11. Asked under the write lock, so that a commit still under way has come to its end. */
export function outcomeOf(statements: Statements, fence: Fence): FenceOutcome {
  const { epochStart } = readMoment(statements);
  const job = findJob(statements, fence.jobId);
  if (job === undefined) return { outcome: "gone" };
  const { settled } = job;
  if (settled !== null && settled.owner === fence.owner && settled.generation === fence.generation) {
    return { outcome: "settled", operation: settled.operation };
  }
  if (isCurrent(job, fence, epochStart, findLease(statements, job.resource))) return { outcome: "current" };
  return refusal(job, fence, undefined, epochStart) as FenceOutcome;
}
