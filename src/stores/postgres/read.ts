/** What people and programs ask of the store without changing it. */

import type { Fence, JobId } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import { isCurrent, refusal } from "../../protocol/outcome.ts";
import { type LimitColumns, limitFromRow } from "../limit-rows.ts";
import type { FenceOutcome, ListFilter, Page, QueueCounts } from "../store.ts";
import { readMoment } from "./moment.ts";
import { jobFromRow } from "./rows.ts";
import type { Sql } from "./statements.ts";
import { findLease, lockJob } from "./transition.ts";

export async function getJobs(sql: Sql, ids: readonly JobId[]): Promise<(JobRecord | undefined)[]> {
  if (ids.length === 0) return [];
  const rows = await sql.rows("find jobs", [[...new Set(ids)]]);
  const found = new Map(rows.map(jobFromRow).map((job) => [job.jobId, job]));
  return ids.map((id) => found.get(id));
}

export async function listJobs(
  sql: Sql,
  filter: ListFilter,
  page: { readonly limit: number; readonly before?: number },
): Promise<Page> {
  const { queue, name, uniqueKey, resource, states } = filter;
  const rows = await sql.rows("list jobs", [
    page.before ?? Number.MAX_SAFE_INTEGER,
    page.limit + 1, // one more than asked for tells whether there is a next page
    queue ?? null,
    name ?? null,
    uniqueKey ?? null,
    resource ?? null,
    states ?? null,
  ]);
  const jobs = rows.slice(0, page.limit).map(jobFromRow);
  return { jobs, before: rows.length > page.limit ? jobs.at(-1)?.seq : undefined };
}

type CountRow = { readonly name: string; readonly limited: boolean } & LimitColumns &
  Omit<QueueCounts, "queue" | "limit">;

export async function countQueues(sql: Sql): Promise<QueueCounts[]> {
  return (await sql.rows<CountRow>("count queues")).map(
    ({ name, paused, limited, concurrency, rate_count, rate_per_ms, ...counts }) => ({
      queue: name,
      paused,
      limit: limited ? limitFromRow({ concurrency, rate_count, rate_per_ms }) : null,
      ...counts,
    }),
  );
}

/** C11. With the job's row locked, so that a commit still under way has come to its end. */
export async function outcomeOf(sql: Sql, fence: Fence): Promise<FenceOutcome> {
  const job = await lockJob(sql, fence.jobId);
  if (job === undefined) return { outcome: "gone" };
  const { settled } = job;
  if (settled !== null && settled.owner === fence.owner && settled.generation === fence.generation) {
    return { outcome: "settled", operation: settled.operation };
  }
  const { epochStart } = await readMoment(sql);
  if (isCurrent(job, fence, epochStart, await findLease(sql, job.resource))) return { outcome: "current" };
  return refusal(job, fence, undefined, epochStart) as FenceOutcome;
}
