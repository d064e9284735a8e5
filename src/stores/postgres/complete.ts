/**
 * C6: one statement for a whole batch, a longer one for the jobs that hold a resource or a unique key, and a transaction
 * for those that others wait for.
 */

import type { Fence, JobId, Owner } from "../../protocol/identity.ts";
import type { Settlement } from "../../protocol/settle.ts";
import type { Call, Connections } from "./connections.ts";
import { depart, keyOf } from "./departures.ts";
import type { OwnSql, Sql } from "./statements.ts";

export type Completion = Extract<Settlement, { readonly operation: "complete" }>;

export interface Completed {
  /** It gave up a resource. */
  readonly gaveUp: boolean;
  /** Others may have waited for it, or a batch counted it. */
  readonly isAwaited: boolean;
}

const PLAIN: Completed = { gaveUp: false, isAwaited: false };

/** The plain statement completes nearly all of them; what it leaves is for the whole one. */
export async function completeAll(
  connections: Connections,
  call: Call,
  completions: readonly Completion[],
): Promise<ReadonlyMap<JobId, Completed>> {
  const sql = connections.on(call);
  const done = new Map<JobId, Completed>();
  for (const [owner, those] of byOwner(completions)) {
    for (const jobId of await completePlain(sql, owner, those)) done.set(jobId, PLAIN);
    call.hasWritten ||= done.size > 0;
  }
  const left = (): Completion[] => completions.filter(({ fence }) => !done.has(fence.jobId));
  if (done.size === completions.length) return done;
  const awaited = new Set<JobId>();
  for (const row of await complete(sql, left(), false)) {
    if (row.done) done.set(row.job_id, { gaveUp: row.resource !== null, isAwaited: false });
    else awaited.add(row.job_id);
  }
  call.hasWritten ||= done.size > 0;
  if (awaited.size === 0) return done;
  const those = left().filter(({ fence }) => awaited.has(fence.jobId));
  for (const entry of await connections.transaction(call, (tx) => completeWhole(tx, those)))
    done.set(...entry);
  return done;
}

/** Nearly always there is one. */
function byOwner(completions: readonly Completion[]): ReadonlyMap<Owner, readonly Completion[]> {
  const owners = new Map<Owner, Completion[]>();
  for (const completion of completions) {
    const { owner } = completion.fence;
    const those = owners.get(owner);
    if (those === undefined) owners.set(owner, [completion]);
    else those.push(completion);
  }
  return owners;
}

async function completePlain(
  sql: OwnSql,
  owner: Owner,
  completions: readonly Completion[],
): Promise<JobId[]> {
  const fences = inOrder(completions);
  const [row] = await sql.rows<{ completed: number; those: JobId[] | null }>("complete plain", [
    owner,
    `{${fences.map(({ jobId }) => jobId).join(",")}}`,
    `{${fences.map(({ generation }) => generation).join(",")}}`,
    resultsOf(completions),
  ]);
  return row?.completed === fences.length ? fences.map(({ jobId }) => jobId) : (row?.those ?? []);
}

/** Every batch locks its rows in this order. */
function inOrder(completions: readonly Completion[]): readonly Fence[] {
  return completions.map(({ fence }) => fence).sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
}

/** JSON: by the ids of those that have one. */
function resultsOf(completions: readonly Completion[]): string {
  const results: Record<JobId, string> = {};
  for (const { fence, result } of completions) if (result !== null) results[fence.jobId] = result;
  return JSON.stringify(results);
}

interface Row {
  readonly job_id: JobId;
  readonly resource: string | null;
  readonly tail: number | null;
  readonly name: string;
  readonly unique_key: string | null;
  /** False: it is current, and to be completed in a transaction. */
  readonly done: boolean;
}

function complete(sql: Sql, completions: readonly Completion[], andTails: boolean): Promise<Row[]> {
  const fences = inOrder(completions);
  return sql.rows<Row>("complete", [
    fences.map(({ jobId }) => jobId),
    fences.map(({ owner }) => owner),
    fences.map(({ generation }) => generation),
    resultsOf(completions),
    andTails,
  ]);
}

/** In a transaction: completes those whose fence is current, frees who waits for them, and returns them. */
export async function completeWhole(
  sql: Sql,
  completions: readonly Completion[],
): Promise<ReadonlyMap<JobId, Completed>> {
  const rows = await complete(sql, completions, true);
  const awaited = rows.filter(({ tail }) => tail !== null);
  await depart(
    sql,
    awaited.map(({ job_id: id, tail, name, unique_key }) => ({
      id,
      how: "completed" as const,
      key: keyOf(name, unique_key),
      tail,
    })),
  );
  return new Map(
    rows.map(({ job_id, resource, tail }) => [
      job_id,
      { gaveUp: resource !== null, isAwaited: tail !== null },
    ]),
  );
}
