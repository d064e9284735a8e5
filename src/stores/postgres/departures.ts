/** What the end of a job means to others: those that wait for it are freed or fail, and its batch counts it. */

import type { Departure } from "../../protocol/blocking.ts";
import type { JobId } from "../../protocol/identity.ts";
import { isEnded, type JobRecord } from "../../protocol/job.ts";
import type { Sql } from "./statements.ts";

/** How many waiting jobs one transaction frees, and how many it fails; a sweep goes on with the rest. */
const FREED_AT_ONCE = 500;

/** A job that has gone away, whose row's `tail` was not null, or that was blocked. */
export interface Departed {
  readonly id: JobId;
  readonly how: Departure;
  readonly key?: { readonly name: string; readonly key: string } | undefined;
  /** Null and 0: it was no member of a batch. */
  readonly tail?: number | null;
}

export function keyOf(name: string, key: string | null): Departed["key"] {
  return key === null ? undefined : { name, key };
}

/**
 * After `before` was written as `after`, or deleted (undefined), in the same transaction.
 *
 * @param tail of its row
 */
export async function onEnd(
  sql: Sql,
  before: JobRecord,
  after: JobRecord | undefined,
  tail: number | null,
): Promise<void> {
  const [was, is] = [isEnded(before), after === undefined || isEnded(after)];
  if (was && !is && tail) await countInBatches(sql, [countOf(tail, before.state, -1)]);
  if (!is || (tail === null && before.blockedBy === 0)) return;
  if (before.blockedBy > 0) await sql.rows("drop dependencies of", [before.jobId]);
  const how = after === undefined ? "deleted" : (after.state as Departure);
  const key = keyOf(before.name, before.uniqueKey);
  // A deletion after its end counts nothing: it has been counted.
  await depart(sql, [{ id: before.jobId, how, key, tail: was ? 0 : tail }]);
}

/** Their own ends must have been written in this transaction. Waits for nobody, and does a bounded part at once. */
export async function depart(sql: Sql, departed: readonly Departed[]): Promise<void> {
  if (departed.length === 0) return;
  await passKeys(sql, departed);
  const failed = departed.every(({ how }) => how === "completed") ? [] : await failBehind(sql, departed);
  const gone = JSON.stringify([...departed, ...failed].map(({ id, how }) => ({ id, how })));
  await sql.rows("free behind", [gone, FREED_AT_ONCE]);
  await sql.rows("note unfreed", [gone]);
  await countEnds(sql, [...departed, ...failed]);
}

async function passKeys(sql: Sql, departed: readonly Departed[]): Promise<void> {
  const keys = departed.flatMap(({ id, key }) => (key === undefined ? [] : [{ ...key, job_id: id }]));
  if (keys.length > 0) await sql.rows("pass keys", [JSON.stringify(keys)]);
}

async function failBehind(sql: Sql, departed: readonly Departed[]): Promise<Departed[]> {
  const given = JSON.stringify(departed.map(({ id, how }) => ({ id, how })));
  const rows = await sql.rows<{
    job_id: JobId;
    name: string;
    unique_key: string | null;
    tail: number | string | null;
  }>("fail behind", [given, FREED_AT_ONCE]);
  const failed = rows.map(
    ({ job_id, name, unique_key, tail }): Departed => ({
      id: job_id,
      how: "failed",
      key: keyOf(name, unique_key),
      tail: tail === null ? null : Number(tail),
    }),
  );
  await passKeys(sql, failed);
  return failed;
}

/** What is to be added to the counts of a batch. */
export interface BatchCount {
  readonly batch: number;
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
}

function countOf(batch: number, end: string, by: number): BatchCount {
  const of = (state: string): number => (state === end ? by : 0);
  return { batch, total: 0, completed: of("completed"), failed: of("failed"), cancelled: of("cancelled") };
}

function countEnds(sql: Sql, departed: readonly Departed[]): Promise<void> {
  const counts = departed.flatMap(({ how, tail }) =>
    tail ? [countOf(tail, how === "deleted" ? "cancelled" : how, 1)] : [],
  );
  const byBatch = new Map<number, BatchCount>();
  for (const count of counts) {
    const sum = byBatch.get(count.batch);
    byBatch.set(count.batch, {
      batch: count.batch,
      total: 0,
      completed: count.completed + (sum?.completed ?? 0),
      failed: count.failed + (sum?.failed ?? 0),
      cancelled: count.cancelled + (sum?.cancelled ?? 0),
    });
  }
  return countInBatches(sql, [...byBatch.values()]);
}

export async function countInBatches(sql: Sql, counts: readonly BatchCount[]): Promise<void> {
  if (counts.length > 0) await sql.rows("count in batches", [JSON.stringify(counts)]);
}
