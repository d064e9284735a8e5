/** Named leases: acquire, release, delete. Renewal is in renew.ts, what jobs hold as resources in claim.ts. */

import type { Previous } from "../../protocol/claim.ts";
import { type HealLeaseAnswer, healLease as healInCore } from "../../protocol/control.ts";
import { type Generation, leaseLine, type NamedFence } from "../../protocol/identity.ts";
import {
  acquire as acquireInCore,
  isCurrentHolder,
  isFree,
  type NamedLease,
  type NamedLeaseRefusal,
  rebasedLease,
  releasedLease,
} from "../../protocol/named-lease.ts";
import type { Note } from "../run-notes.ts";
import type { AcquireAnswer, AcquireRequest } from "../store.ts";
import { note } from "./journal.ts";
import { readMoment } from "./moment.ts";
import { refuseNamed } from "./renew.ts";
import { leaseFromRow } from "./rows.ts";
import type { Row, Statements } from "./statements.ts";
import { findLease, letNextHave, saveFreedLease, saveLease } from "./transition.ts";

export function acquire(statements: Statements, request: AcquireRequest): AcquireAnswer {
  const { nowMs, floor } = readMoment(statements);
  const row = statements.get("find lease", { name: request.name });
  const found = row === undefined ? undefined : leaseFromRow(row);
  if (found !== undefined && !isFree(found, nowMs)) {
    const lease = rebasedLease(found, nowMs);
    if (lease !== found) statements.run("renew lease", { name: lease.name, lease_until: lease.leaseUntilMs });
    return {
      outcome: "held",
      generation: lease.generation,
      remainingMs: (lease.leaseUntilMs ?? nowMs) - nowMs,
    };
  }
  const held = acquireInCore(found, { ...request, heldFor: null }, nowMs, floor);
  if (row !== undefined && found !== undefined)
    note(statements, leaseLine(request.name), lastRun(row, found));
  saveLease(statements, held, { claimedAtMs: nowMs, releasedAtMs: null });
  return {
    outcome: "applied",
    token: { line: leaseLine(request.name), generation: held.generation, owner: request.owner },
    previous: previousOf(found, nowMs),
  };
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

function previousOf(lease: NamedLease | undefined, nowMs: number): Previous | undefined {
  if (lease === undefined || lease.owner === null || lease.leaseUntilMs === null) return undefined;
  return { owner: lease.owner, generation: lease.generation, endedAgoMs: nowMs - lease.leaseUntilMs };
}

export function release(
  statements: Statements,
  fences: readonly NamedFence[],
): ({ readonly outcome: "applied" } | NamedLeaseRefusal)[] {
  const moment = readMoment(statements);
  return fences.map((fence) => {
    const lease = findLease(statements, fence.name);
    if (!isCurrentHolder(lease, fence, moment.epochStart))
      return refuseNamed(statements, fence, "release", moment);
    saveFreedLease(statements, releasedLease(lease), moment.nowMs);
    letNextHave(statements, fence.name);
    return { outcome: "applied" };
  });
}

/** C19 */
export function healLease(
  statements: Statements,
  fence: NamedFence,
  mark: Generation,
): HealLeaseAnswer | NamedLeaseRefusal {
  const moment = readMoment(statements);
  const row = statements.get("find lease", { name: fence.name });
  const lease = row === undefined ? undefined : leaseFromRow(row);
  if (row === undefined || !isCurrentHolder(lease, fence, moment.epochStart))
    return refuseNamed(statements, fence, "heal", moment);
  const healed = healInCore(lease, mark, moment.epoch, moment.floor);
  if (healed.lease === undefined) return healed.answer;
  const { owner } = fence;
  note(statements, leaseLine(fence.name), [
    { kind: "claimed", atMs: row["claimed_at"] as number, owner, generation: lease.generation },
    { kind: "healed", atMs: moment.nowMs, owner, generation: healed.lease.generation },
  ]);
  saveFreedLease(statements, healed.lease, moment.nowMs);
  letNextHave(statements, fence.name);
  return healed.answer;
}

/** Its generation goes into the floor: a lease of the same name made anew begins above it. */
export function deleteLease(
  statements: Statements,
  name: string,
): { readonly outcome: "applied" | "conflict" | "gone" } {
  const lease = findLease(statements, name);
  if (lease === undefined) return { outcome: "gone" };
  if (lease.owner !== null) return { outcome: "conflict" };
  statements.run("delete lease", { name });
  statements.run("raise deleted generation", { generation: lease.generation });
  statements.run("drop journal", { line: leaseLine(name) });
  return { outcome: "applied" };
}
