/** C5, for jobs and for leases held by name. */

import type { Fence, JobId, NamedFence } from "../../protocol/identity.ts";
import type { NamedLeaseRefusal } from "../../protocol/named-lease.ts";
import type { Busy, Refusal } from "../../protocol/outcome.ts";
import type { Renewed } from "../../protocol/renew.ts";
import { explain, explainNamed } from "./refusals.ts";
import type { Sql } from "./statements.ts";

const IN_TIME: Renewed = { outcome: "applied", lapsedMs: 0, cancelRequested: false };

interface Told {
  /** How many are renewed, in time, and not to be cancelled: of all of them no more is told. */
  readonly plain: number;
  /** The fences that are current, with how long ago each lease had lapsed, and whether its job is to be cancelled. */
  readonly found: readonly (readonly [JobId, string, number, number, boolean])[] | null;
  /** Null where it is all of them. */
  readonly renewed: readonly JobId[] | null;
}

export async function renew(sql: Sql, fences: readonly Fence[]): Promise<(Renewed | Refusal | Busy)[]> {
  if (fences.length === 0) return [];
  // Every batch locks its rows in this order.
  const inOrder = fences.toSorted((a, b) => (a.jobId < b.jobId ? -1 : 1));
  const [row] = await sql.rows<Told>("renew", [
    `{${inOrder.map(({ jobId }) => jobId).join(",")}}`,
    inOrder.map(({ owner }) => owner),
    `{${inOrder.map(({ generation }) => generation).join(",")}}`,
  ]);
  // What is not said to be renewed is not: silence never stands for it.
  if (row?.plain === fences.length) return fences.map(() => IN_TIME);
  const written = row?.renewed == null ? undefined : new Set(row.renewed);
  const renewed = new Map<string, Renewed>();
  for (const [id, owner, generation, lapsedMs, cancelRequested] of row?.found ?? [])
    if (written?.has(id) ?? true)
      renewed.set(keyOf(id, owner, generation), { outcome: "applied", lapsedMs, cancelRequested });
  const isRefused = (fence: Fence): boolean =>
    !renewed.has(keyOf(fence.jobId, fence.owner, fence.generation));
  const refused = fences.filter(isRefused);
  const explained = await explain(
    sql,
    refused.map((fence) => ({ fence, operation: "renew" })),
    "renew",
  );
  const answers = new Map(refused.map((fence, n) => [fence, explained[n] as Refusal | Busy]));
  return fences.map((fence) => {
    const answer = renewed.get(keyOf(fence.jobId, fence.owner, fence.generation));
    return answer ?? (answers.get(fence) as Refusal | Busy);
  });
}

export async function renewLeases(
  sql: Sql,
  fences: readonly NamedFence[],
): Promise<(Renewed | NamedLeaseRefusal | Busy)[]> {
  if (fences.length === 0) return [];
  const rows = await sql.rows<{ name: string; owner: string; generation: number; lapsed: number }>(
    "renew leases",
    [
      fences.map(({ name }) => name),
      fences.map(({ owner }) => owner),
      fences.map(({ generation }) => generation),
    ],
  );
  const renewed = new Map(rows.map((row) => [keyOf(row.name, row.owner, row.generation), row]));
  const refused = fences.filter((fence) => !renewed.has(keyOf(fence.name, fence.owner, fence.generation)));
  const explained = await explainNamed(sql, refused, "renew");
  const answers = new Map(refused.map((fence, n) => [fence, explained[n] as NamedLeaseRefusal | Busy]));
  return fences.map((fence) => {
    const row = renewed.get(keyOf(fence.name, fence.owner, fence.generation));
    if (row === undefined) return answers.get(fence) as NamedLeaseRefusal | Busy;
    return { outcome: "applied", lapsedMs: row.lapsed, cancelRequested: false };
  });
}

/** The same job or name may stand in a batch with several fences, of which one at most is current. */
function keyOf(what: string, owner: string, generation: number): string {
  return `${generation} ${owner} ${what}`;
}
