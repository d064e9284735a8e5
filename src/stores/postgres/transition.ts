/**
 * Everything but the hot path (claim, renew, complete, enqueue) is done by the protocol core itself, in one short
 * transaction: lock the row, let the pure function decide, write what it decided. Jobs are locked before leases, and
 * several jobs in the order of their ids.
 */

import type { JobId } from "../../protocol/identity.ts";
import { isEnded, type JobRecord } from "../../protocol/job.ts";
import type { NamedLease } from "../../protocol/named-lease.ts";
import { onEnd } from "./departures.ts";
import { jobFromRow, leaseFromRow, savedJob, savedLease } from "./rows.ts";
import type { Sql } from "./statements.ts";

export async function findJob(sql: Sql, jobId: JobId): Promise<JobRecord | undefined> {
  const [row] = await sql.rows("find job", [jobId]);
  return row === undefined ? undefined : jobFromRow(row);
}

export async function findLease(sql: Sql, name: string | null): Promise<NamedLease | undefined> {
  if (name === null) return undefined;
  const [row] = await sql.rows("find lease", [name]);
  return row === undefined ? undefined : leaseFromRow(row);
}

export async function lockLease(sql: Sql, name: string | null): Promise<NamedLease | undefined> {
  if (name === null) return undefined;
  const [row] = await sql.rows("lock lease", [name]);
  return row === undefined ? undefined : leaseFromRow(row);
}

/**
 * Waits for whoever has the job, live or in history, and answers what it is then; undefined when there is none. It may
 * change tables while it is waited for, so it is looked for until no look has missed it.
 */
export async function lockJob(sql: Sql, jobId: JobId): Promise<JobRecord | undefined> {
  for (const statement of ["lock job", "lock ended job", "lock job", "lock ended job"]) {
    const locked = await sql.rows(statement, [jobId]);
    if (locked.length > 0) return findJob(sql, jobId);
  }
  return undefined;
}

/**
 * The same for many, in the order of their ids, so that two calls do not block each other. A job of which there is no
 * record is not among them.
 */
export async function lockJobs(sql: Sql, ids: readonly JobId[]): Promise<Map<JobId, JobRecord>> {
  let missing = [...new Set(ids)];
  for (const statement of ["lock jobs", "lock ended jobs", "lock jobs", "lock ended jobs"]) {
    if (missing.length === 0) break;
    const locked = await sql.rows<{ job_id: JobId }>(statement, [missing]);
    const found = new Set(locked.map(({ job_id }) => job_id));
    missing = missing.filter((id) => !found.has(id));
  }
  const rows = ids.length === 0 ? [] : await sql.rows("find jobs", [[...new Set(ids)]]);
  return new Map(rows.map(jobFromRow).map((job) => [job.jobId, job]));
}

/** Locks those of these jobs that are live and that nobody else has locked, in the order of their ids. */
export async function lockUnlocked(sql: Sql, ids: readonly JobId[]): Promise<ReadonlyMap<JobId, JobRecord>> {
  const locked = await sql.rows<{ job_id: JobId }>("lock unlocked jobs", [ids]);
  if (locked.length === 0) return new Map();
  const rows = await sql.rows("find jobs", [locked.map(({ job_id }) => job_id)]);
  return new Map(rows.map(jobFromRow).map((job) => [job.jobId, job]));
}

/**
 * Writes `after` in the place of `before`, which this transaction has locked; moves a job that ends or comes back from
 * one table to the other and counts it; frees whoever waits for its end; and lets the next job have a resource that nobody needs any more.
 */
export async function saveJob(sql: Sql, before: JobRecord, after: JobRecord): Promise<void> {
  const statement = isEnded(after) ? "end job" : isEnded(before) ? "revive job" : "save job";
  const [saved, ...others] = await sql.rows<Tail>(statement, [savedJob(before, after)]);
  if (saved === undefined || others.length > 0)
    throw new Error(`Job ${before.jobId} changed while it was being written`);
  if (isEnded(after)) await countEnd(sql, after, 1);
  else if (isEnded(before)) await countEnd(sql, before, -1);
  await onEnd(sql, before, after, tailOf(saved));
  if (before.resource !== null && after.state !== "leased") await letNextHave(sql, before.resource);
}

/** Whom the end of a row's job concerns. */
export interface Tail {
  readonly tail: number | string | null;
}

/** A client that the caller brings may hand big integers over as texts. */
export function tailOf({ tail }: Tail): number | null {
  return tail === null ? null : Number(tail);
}

export async function countEnd(sql: Sql, { queue, state }: JobRecord, by: number): Promise<void> {
  const count = (ended: string): number => (state === ended ? by : 0);
  await sql.rows("count ends", [queue, count("completed"), count("failed"), count("cancelled")]);
}

/** Frees the first job that waits for `resource`; no harm is done when it turns out to be held after all. */
export async function letNextHave(sql: Sql, resource: string): Promise<void> {
  await sql.rows("let next have", [resource]);
}

/** Writes a lease that nobody holds any more. */
export async function saveFreedLease(sql: Sql, lease: NamedLease, nowMs: number): Promise<void> {
  await sql.rows("save lease", [savedLease(lease, null, nowMs)]);
}
