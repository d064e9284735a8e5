/** Limits of queues: asked before each claim of theirs, used up by it. */

import type { Owner } from "../../protocol/identity.ts";
import {
  type Allowance,
  allowance,
  freeSlotNames,
  isSlotOf,
  type QueueLimit,
  type Slot,
  withStarts,
} from "../../protocol/limit.ts";
import { acquire, type NamedLease, rebasedLease } from "../../protocol/named-lease.ts";
import { floorAt, type Moment, putLease } from "./state.ts";

export function limitQueue({ state }: Moment, queue: string, limit: QueueLimit | null): void {
  if (limit === null) state.limits.delete(queue);
  else state.limits.set(queue, { limit, starts: state.limits.get(queue)?.starts ?? [] });
}

/** What may be claimed from the queue; undefined when it has no limit. */
export function allowanceOf(at: Moment, queue: string, wanted: number): Allowance | undefined {
  const known = at.state.limits.get(queue);
  if (known === undefined) return undefined;
  return allowance(known.limit, known.starts, slotsOf(at, queue), wanted, at.nowMs);
}

/** A job of the queue has been claimed. Its slot is held for as long as the job's lease at a time. */
export function useUp(at: Moment, queue: string, owner: Owner, leaseMs: number): Slot | undefined {
  const known = at.state.limits.get(queue);
  if (known === undefined) return undefined;
  const { limit, starts } = known;
  if (limit.rate !== null) {
    at.state.limits.set(queue, { limit, starts: withStarts(starts, limit.rate, 1, at.nowMs) });
  }
  if (limit.concurrency === null) return undefined;
  const [name] = freeSlotNames(queue, slotsOf(at, queue), 1, at.nowMs) as [string];
  const lease = acquire(
    at.state.leases.get(name),
    { name, owner, leaseMs, heldFor: null },
    at.nowMs,
    floorAt(at),
  );
  putLease(at, lease);
  return { name, owner, generation: lease.generation };
}

function slotsOf(at: Moment, queue: string): NamedLease[] {
  const slots = [...at.state.leases.values()].filter((lease) => isSlotOf(queue, lease));
  return slots.map((slot) => {
    const corrected = rebasedLease(slot, at.nowMs);
    if (corrected !== slot) putLease(at, corrected);
    return corrected;
  });
}
