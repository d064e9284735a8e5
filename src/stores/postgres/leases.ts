/** Named leases: acquire, release, delete. Renewal is in renew.ts, what jobs hold as resources in sql/claim.sql. */

import type { Previous } from "../../protocol/claim.ts";
import { type HealLeaseAnswer, healLease as healInCore } from "../../protocol/control.ts";
import { type Generation, leaseLine, type NamedFence } from "../../protocol/identity.ts";
import {
  acquire as acquireInCore,
  isCurrentHolder,
  isFree,
  type NamedLease,
  rebasedLease,
  releasedLease,
} from "../../protocol/named-lease.ts";
import type { Note } from "../run-notes.ts";
import type { AcquireAnswer, AcquireRequest } from "../store.ts";
import { note } from "./journal.ts";
import { type Moment, readMoment, readMomentToRaise } from "./moment.ts";
import { leaseFromRow, savedLease } from "./rows.ts";
import type { Row, Sql } from "./statements.ts";
import { letNextHave, lockLease, saveFreedLease } from "./transition.ts";

/** In a transaction; undefined when somebody made or deleted the lease meanwhile: then it is to be done again. */
export async function acquire(sql: Sql, request: AcquireRequest): Promise<AcquireAnswer | undefined> {
  const [row] = await sql.rows("lock lease", [request.name]);
  const moment = await readMomentToRaise(sql);
  if (row === undefined) return make(sql, request, moment);
  const { nowMs, floor } = moment;
  const found = leaseFromRow(row);
  if (!isFree(found, nowMs)) {
    const lease = rebasedLease(found, nowMs);
    if (lease !== found) await sql.rows("save lease", [savedLease(lease, null, null)]);
    const remainingMs = (lease.leaseUntilMs ?? nowMs) - nowMs;
    return { outcome: "held", generation: lease.generation, remainingMs };
  }
  const held = acquireInCore(found, { ...request, heldFor: null }, nowMs, floor);
  await note(sql, leaseLine(request.name), lastRun(row, found));
  await sql.rows("save lease", [savedLease(held, nowMs, null)]);
  return acquired(held, request, previousOf(found, nowMs));
}

async function make(sql: Sql, request: AcquireRequest, moment: Moment): Promise<AcquireAnswer | undefined> {
  const held = acquireInCore(undefined, { ...request, heldFor: null }, moment.nowMs, moment.floor);
  const made = await sql.rows("make lease", [savedLease(held, moment.nowMs, null)]);
  return made.length === 0 ? undefined : acquired(held, request, undefined);
}

function acquired(
  held: NamedLease,
  { name, owner }: AcquireRequest,
  previous: Previous | undefined,
): AcquireAnswer {
  const token = { line: leaseLine(name), generation: held.generation, owner };
  return { outcome: "applied", token, previous };
}

/** What the row told of the run before, which this acquisition overwrites. */
function lastRun(row: Row, lease: NamedLease): Note[] {
  if (lease.lastOwner === null || lease.heldFor !== null) return [];
  const run = { owner: lease.lastOwner, generation: lease.generation };
  const claimed: Note = { kind: "claimed", atMs: row["claimed_at"] as number, ...run };
  if (lease.owner === null)
    return [claimed, { kind: "released", atMs: row["released_at"] as number, ...run }];
  return [claimed, { kind: "lapsed", atMs: lease.leaseUntilMs as number, ...run }];
}

function previousOf(lease: NamedLease, nowMs: number): Previous | undefined {
  if (lease.owner === null || lease.leaseUntilMs === null) return undefined;
  return { owner: lease.owner, generation: lease.generation, endedAgoMs: nowMs - lease.leaseUntilMs };
}

/** Those that were released; the others are to be explained. In the order of their names, as all leases are locked. */
export async function release(sql: Sql, fences: readonly NamedFence[]): Promise<ReadonlySet<NamedFence>> {
  const released = new Set<NamedFence>();
  const inOrder = fences.toSorted((one, other) =>
    one.name < other.name ? -1 : one.name > other.name ? 1 : 0,
  );
  for (const fence of inOrder) {
    const lease = await lockLease(sql, fence.name);
    const moment = await readMoment(sql);
    if (!isCurrentHolder(lease, fence, moment.epochStart)) continue;
    await saveFreedLease(sql, releasedLease(lease), moment.nowMs);
    await letNextHave(sql, fence.name);
    released.add(fence);
  }
  return released;
}

/** C19; undefined when the fence is not current. */
export async function healLease(
  sql: Sql,
  fence: NamedFence,
  mark: Generation,
): Promise<HealLeaseAnswer | undefined> {
  const [row] = await sql.rows("lock lease", [fence.name]);
  const lease = row === undefined ? undefined : leaseFromRow(row);
  const moment = await readMomentToRaise(sql);
  if (row === undefined || !isCurrentHolder(lease, fence, moment.epochStart)) return undefined;
  const healed = healInCore(lease, mark, moment.epoch, moment.floor);
  if (healed.lease === undefined) return healed.answer;
  const { owner } = fence;
  await note(sql, leaseLine(fence.name), [
    { kind: "claimed", atMs: row["claimed_at"] as number, owner, generation: lease.generation },
    { kind: "healed", atMs: moment.nowMs, owner, generation: healed.lease.generation },
  ]);
  await saveFreedLease(sql, healed.lease, moment.nowMs);
  await letNextHave(sql, fence.name);
  return healed.answer;
}

/** Its generation goes into the floor: a lease of the same name made anew begins above it. */
export async function deleteLease(
  sql: Sql,
  name: string,
): Promise<{ readonly outcome: "applied" | "conflict" | "gone" }> {
  await sql.rows("exclude other users of leases");
  const lease = await lockLease(sql, name);
  if (lease === undefined) return { outcome: "gone" };
  if (lease.owner !== null) return { outcome: "conflict" };
  await sql.rows("delete lease", [name]);
  await sql.rows("raise deleted generation", [lease.generation]);
  await sql.rows("drop journal", [leaseLine(name)]);
  return { outcome: "applied" };
}
