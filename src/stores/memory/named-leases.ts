/** Named leases that are held by name. Those that a job's run holds live and end with that run. */

import { type HealLeaseAnswer, healLease as healInCore } from "../../protocol/control.ts";
import { type Generation, leaseLine, type NamedFence } from "../../protocol/identity.ts";
import {
  acquire,
  isCurrentHolder,
  isFree,
  type NamedLeaseRefusal,
  namedRefusal,
  rebasedLease,
  releasedLease,
  renewedLease,
} from "../../protocol/named-lease.ts";
import { lapsedMs, type Renewed } from "../../protocol/renew.ts";
import type { AcquireAnswer, AcquireRequest } from "../store.ts";
import { noteAcquisition } from "./claiming.ts";
import { noteLease, noteRefusal } from "./journal.ts";
import { epochStartAt, floorAt, type Moment, putLease, raiseDeletedGeneration } from "./state.ts";

export function acquireLease(at: Moment, request: AcquireRequest): AcquireAnswer {
  const { name, owner, leaseMs } = request;
  const found = at.state.leases.get(name);
  const known = found === undefined ? undefined : rebasedLease(found, at.nowMs);
  if (known !== undefined && !isFree(known, at.nowMs)) {
    putLease(at, known);
    return {
      outcome: "held",
      generation: known.generation,
      remainingMs: (known.leaseUntilMs ?? at.nowMs) - at.nowMs,
    };
  }
  const lease = acquire(known, { name, owner, leaseMs, heldFor: null }, at.nowMs, floorAt(at));
  putLease(at, lease);
  noteAcquisition(at, known, lease);
  const previous =
    known === undefined || known.owner === null
      ? undefined
      : { owner: known.owner, generation: known.generation, endedAgoMs: lapsedMs(known, at.nowMs) };
  return {
    outcome: "applied",
    token: { line: leaseLine(name), generation: lease.generation, owner },
    previous,
  };
}

export function renewLease(at: Moment, fence: NamedFence): Renewed | NamedLeaseRefusal {
  const lease = at.state.leases.get(fence.name);
  if (!isCurrentHolder(lease, fence, epochStartAt(at))) return refused(at, fence, "renew");
  putLease(at, renewedLease(lease, at.nowMs));
  return { outcome: "applied", lapsedMs: lapsedMs(lease, at.nowMs), cancelRequested: false };
}

export function releaseLease(
  at: Moment,
  fence: NamedFence,
): { readonly outcome: "applied" } | NamedLeaseRefusal {
  const lease = at.state.leases.get(fence.name);
  if (!isCurrentHolder(lease, fence, epochStartAt(at))) return refused(at, fence, "release");
  putLease(at, releasedLease(lease));
  noteLease(at, lease, "released", fence.owner);
  return { outcome: "applied" };
}

export function healLease(
  at: Moment,
  fence: NamedFence,
  mark: Generation,
): HealLeaseAnswer | NamedLeaseRefusal {
  const lease = at.state.leases.get(fence.name);
  if (!isCurrentHolder(lease, fence, epochStartAt(at))) return refused(at, fence, "heal");
  const healed = healInCore(lease, mark, at.state.floor.epoch, floorAt(at));
  if (healed.lease !== undefined) {
    putLease(at, healed.lease);
    noteLease(at, healed.lease, "healed", fence.owner);
  }
  return healed.answer;
}

function refused(at: Moment, fence: NamedFence, operation: "renew" | "release" | "heal"): NamedLeaseRefusal {
  const refusal = namedRefusal(at.state.leases.get(fence.name), fence, operation);
  if (refusal.outcome === "stale")
    noteRefusal(at, leaseLine(fence.name), fence, refusal.generation, operation);
  return refusal;
}

/** C14: a held lease is never deleted, expired or not. */
export function deleteLease(at: Moment, name: string): { readonly outcome: "applied" | "conflict" | "gone" } {
  const lease = at.state.leases.get(name);
  if (lease === undefined) return { outcome: "gone" };
  if (lease.owner !== null) return { outcome: "conflict" };
  forgetLease(at, name);
  return { outcome: "applied" };
}

/** The floor keeps the generation, so that a lease of the same name never gives it out again. */
export function forgetLease({ state }: Moment, name: string): void {
  const lease = state.leases.get(name);
  if (lease === undefined) return;
  raiseDeletedGeneration({ state }, lease.generation);
  state.leases.delete(name);
  state.leaseIdleSinceMs.delete(name);
  state.journal.delete(leaseLine(name));
}
