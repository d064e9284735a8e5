/** Limits of queues: each claim from such a queue is a transaction that holds its limit's row. */

import type { Generation, Owner } from "../../protocol/identity.ts";
import {
  allowance,
  freeSlotNames,
  type QueueLimit,
  type Starts,
  slotRange,
  withStarts,
} from "../../protocol/limit.ts";
import { type NamedLease, rebasedLease } from "../../protocol/named-lease.ts";
import { type LimitRow, limitFromRow } from "../limit-rows.ts";
import type { ClaimedJob } from "../store.ts";
import { readMomentToRaise } from "./moment.ts";
import { leaseFromRow, savedLease } from "./rows.ts";
import type { Sql } from "./statements.ts";

export async function limitQueue(sql: Sql, queue: string, limit: QueueLimit | null): Promise<void> {
  await sql.rows("add queues", [JSON.stringify([queue])]);
  if (limit === null) {
    await sql.rows("drop limit", [queue]);
  } else {
    const { concurrency, rate } = limit;
    await sql.rows("save limit", [queue, concurrency, rate?.count ?? null, rate?.perMs ?? null]);
  }
  await sql.rows("mark limited", [queue, limit !== null]);
}

/** What `claimWithin` found. */
export interface LimitedClaim {
  readonly jobs: readonly ClaimedJob[];
  /** The queue's rate allows the next job in so many ms. */
  readonly allowedInMs: number | undefined;
}

/** Somebody has renewed a slot that had lapsed, after it was chosen: all of this claim is to be rolled back. */
export class SlotsTaken extends Error {}

/**
 * Claims from a queue with a limit what the limit allows; in a transaction.
 *
 * @param claim claims up to so many jobs of the queue in the same transaction
 * @throws {SlotsTaken}
 */
export async function claimWithin(
  sql: Sql,
  queue: string,
  owner: Owner,
  wanted: number,
  claim: (limit: number) => Promise<readonly ClaimedJob[]>,
): Promise<LimitedClaim> {
  const [row] = await sql.rows<LimitRow & { id: number }>("lock limit", [queue]);
  if (row === undefined) return { jobs: [], allowedInMs: undefined };
  const limit = limitFromRow(row);
  const { nowMs } = await readMomentToRaise(sql);
  const starts = JSON.parse(row.starts) as Starts;
  const slots = limit.concurrency === null ? [] : await slotsOf(sql, queue, nowMs);
  const { jobs: allowed, nextInMs } = allowance(limit, starts, slots, wanted, nowMs);
  const claimed = allowed === 0 ? [] : await claim(allowed);
  if (claimed.length === 0) return { jobs: [], allowedInMs: nextInMs };
  if (limit.rate !== null) {
    // They began when they were claimed, which was a moment after the look.
    const beganMs = Math.max(nowMs, ...claimed.map(({ job }) => job.claimedAtMs ?? nowMs));
    const later = withStarts(starts, limit.rate, claimed.length, beganMs);
    await sql.rows("save starts", [row.id, JSON.stringify(later)]);
  }
  if (limit.concurrency === null) return { jobs: claimed, allowedInMs: nextInMs };
  const names = freeSlotNames(queue, slots, claimed.length, nowMs);
  return { jobs: await takeSlots(sql, names, claimed, owner), allowedInMs: nextInMs };
}

async function slotsOf(sql: Sql, queue: string, nowMs: number): Promise<NamedLease[]> {
  const slots: NamedLease[] = [];
  for (const row of await sql.rows("slots", [...slotRange(queue)])) {
    const slot = leaseFromRow(row);
    const corrected = rebasedLease(slot, nowMs);
    if (corrected !== slot) await sql.rows("save lease", [savedLease(corrected, null, null)]);
    slots.push(corrected);
  }
  return slots;
}

async function takeSlots(
  sql: Sql,
  names: readonly string[],
  claimed: readonly ClaimedJob[],
  owner: Owner,
): Promise<ClaimedJob[]> {
  const wanted = claimed.map(({ job }, n) => ({ name: names[n], owner, lease_ms: job.leaseMs }));
  const taken = await sql.rows<{ name: string; generation: string }>("take slots", [JSON.stringify(wanted)]);
  if (taken.length !== wanted.length) throw new SlotsTaken();
  const generations = new Map(taken.map(({ name, generation }) => [name, Number(generation) as Generation]));
  return claimed.map((job, n) => {
    const name = names[n] as string;
    return { ...job, slot: { name, owner, generation: generations.get(name) as Generation } };
  });
}
