/** C6: one statement for a whole batch, and a longer one for the jobs that hold a resource or a unique key. */

import type { JobId, Owner } from "../../protocol/identity.ts";
import type { Settlement } from "../../protocol/settle.ts";
import type { OwnSql, Sql } from "./statements.ts";

export type Completion = Extract<Settlement, { readonly operation: "complete" }>;

/** The plain statement completes nearly all of them; what it leaves is for the whole one. */
export async function completeAll(
  sql: OwnSql,
  completions: readonly Completion[],
): Promise<ReadonlyMap<JobId, string | null>> {
  const done = new Map<JobId, string | null>();
  for (const [owner, those] of byOwner(completions)) {
    for (const jobId of await completePlain(sql, owner, those)) done.set(jobId, null);
  }
  if (done.size === completions.length) return done;
  const left = completions.filter(({ fence }) => !done.has(fence.jobId));
  for (const [jobId, resource] of await complete(sql, left)) done.set(jobId, resource);
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
  // Every batch locks its rows in this order.
  const fences = completions.map(({ fence }) => fence).sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
  const results: Record<JobId, string> = {};
  for (const { fence, result } of completions) if (result !== null) results[fence.jobId] = result;
  const [row] = await sql.rows<{ completed: number; those: JobId[] | null }>("complete plain", [
    owner,
    `{${fences.map(({ jobId }) => jobId).join(",")}}`,
    `{${fences.map(({ generation }) => generation).join(",")}}`,
    JSON.stringify(results),
  ]);
  return row?.completed === fences.length ? fences.map(({ jobId }) => jobId) : (row?.those ?? []);
}

/** Completes those whose fence is current; returns them, with the resource that each has given up. */
export async function complete(
  sql: Sql,
  completions: readonly Completion[],
): Promise<ReadonlyMap<JobId, string | null>> {
  const rows = await sql.rows<{ job_id: JobId; resource: string | null }>("complete", [
    completions.map(({ fence }) => fence.jobId),
    completions.map(({ fence }) => fence.owner),
    completions.map(({ fence }) => fence.generation),
    completions.map(({ result }) => result),
  ]);
  return new Map(rows.map((row) => [row.job_id, row.resource]));
}
