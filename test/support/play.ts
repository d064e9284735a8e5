import { claim, endLapsed, lapse, rebased } from "../../src/protocol/claim.ts";
import { cancel, heal, mayDelete, retry, revoke } from "../../src/protocol/control.ts";
import { epochStart, floorOf } from "../../src/protocol/floor.ts";
import type { Fence, Generation, Owner } from "../../src/protocol/identity.ts";
import type { Transition } from "../../src/protocol/invariants.ts";
import type { JobRecord } from "../../src/protocol/job.ts";
import {
  acquire,
  isFree,
  type NamedLease,
  rebasedLease,
  releasedLease,
} from "../../src/protocol/named-lease.ts";
import { isCurrent, refusal } from "../../src/protocol/outcome.ts";
import { renew } from "../../src/protocol/renew.ts";
import { settle } from "../../src/protocol/settle.ts";
import {
  fenceOf,
  HOUR_MS,
  LAPSE_MS,
  LEASE_MS,
  type Model,
  markAbove,
  NOW_MS,
  OTHER_RUN,
  SMALL_STEP_MS,
  type Step,
  settlementOf,
} from "./histories.ts";

export interface Played {
  readonly model: Model;
  readonly answer: unknown;
  readonly transitions: readonly Transition[];
}

/** What the protocol core makes of one step. `epoch` is what a raised floor reaches. */
export function play(model: Model, step: Step, epoch: number = model.floor.epoch + 1): Played {
  switch (step.op) {
    case "claim":
      return playClaim(model, step.owner as Owner, step.takeover);
    case "lapse":
      return quiet({ ...model, job: moved(model.job, -LAPSE_MS), lease: moved(model.lease, -LAPSE_MS) });
    case "lapse of the resource":
      return quiet({ ...model, lease: moved(model.lease, -LAPSE_MS) });
    case "step back":
      return quiet({ ...model, job: moved(model.job, HOUR_MS), lease: moved(model.lease, HOUR_MS) });
    case "small step back":
      return quiet({
        ...model,
        job: moved(model.job, SMALL_STEP_MS),
        lease: moved(model.lease, SMALL_STEP_MS),
      });
    case "raise floor":
      return quiet({ ...model, floor: { ...model.floor, epoch } });
    case "other run of the resource":
      return playOtherRun(model);
    case "cancel":
    case "revoke":
    case "retry":
    case "delete":
      return playOperator(model, step.op);
    default:
      return playOwner(model, step.op, fenceOf(model, step));
  }
}

function quiet(model: Model): Played {
  return { model, answer: "done", transitions: [] };
}

function moved<T extends JobRecord | NamedLease>(record: T | undefined, byMs: number): T | undefined {
  if (record === undefined) return undefined;
  const later = (timeMs: number | null): number | null => (timeMs === null ? null : timeMs + byMs);
  const times = { leaseUntilMs: later(record.leaseUntilMs) };
  return "runAtMs" in record
    ? { ...record, ...times, runAtMs: later(record.runAtMs) }
    : { ...record, ...times };
}

function change(model: Model, transition: Omit<Transition, "before" | "nowMs" | "floor">): Transition {
  return { before: model.job, lease: model.lease, nowMs: NOW_MS, floor: model.floor, ...transition };
}

function playClaim(model: Model, owner: Owner, takeover: boolean): Played {
  const nothing = { jobs: [], ended: [] };
  if (model.job === undefined) return { model, answer: nothing, transitions: [] };
  const floor = floorOf(model.floor);
  const seen: Model = !takeover
    ? model
    : {
        ...model,
        job: rebased(model.job, NOW_MS),
        lease: model.lease === undefined ? undefined : rebasedLease(model.lease, NOW_MS),
      };
  const job = seen.job as JobRecord;
  if (lapse(job, NOW_MS) === "end") {
    if (!takeover) return { model: seen, answer: nothing, transitions: [] };
    const after = endLapsed(job, NOW_MS, floor);
    const freed = seen.lease?.heldFor === job.jobId && seen.lease.generation === job.resourceGeneration;
    const lease = freed && seen.lease !== undefined ? releasedLease(seen.lease) : seen.lease;
    return {
      model: { ...seen, job: after, lease },
      answer: { jobs: [], ended: [after.state] },
      transitions: [change(seen, { operation: "expire", after })],
    };
  }
  const claimed = claim(job, seen.lease, { owner, takeover, floor, nowMs: NOW_MS });
  if (claimed === undefined) return { model: seen, answer: nothing, transitions: [] };
  const { owner: previousOwner = null, generation: previousGeneration = null } = claimed.previous ?? {};
  return {
    model: {
      ...seen,
      job: claimed.job,
      lease: claimed.lease ?? seen.lease,
      grants: [...seen.grants, claimed.job.generation],
    },
    answer: {
      jobs: [[claimed.job.generation, claimed.lease?.generation ?? null, previousOwner, previousGeneration]],
      ended: [],
    },
    transitions: [change(seen, { operation: "claim", after: claimed.job })],
  };
}

function playOwner(model: Model, op: string, fence: Fence): Played {
  const { job, lease } = model;
  const settlement = settlementOf(op, fence);
  if (job === undefined || !isCurrent(job, fence, epochStart(model.floor), lease)) {
    const answer = refusal(job, fence, settlement?.operation, epochStart(model.floor));
    return { model, answer, transitions: [] };
  }
  if (settlement !== undefined) {
    const settled = settle(job, lease, settlement, NOW_MS);
    const transition = change(model, { operation: settlement.operation, after: settled.job, fence });
    return {
      model: { ...model, job: settled.job, lease: settled.lease ?? lease },
      answer: settled.answer,
      transitions: [transition],
    };
  }
  if (op === "renew") {
    const renewed = renew(job, lease, NOW_MS);
    const { lapsedMs, ...answer } = renewed.answer;
    return {
      model: { ...model, job: renewed.job, lease: renewed.lease ?? lease },
      answer: { ...answer, lapsed: lapsedMs > 0 },
      transitions: [change(model, { operation: "renew", after: renewed.job, fence })],
    };
  }
  if (op === "heal") {
    const mark = markAbove(model);
    const healed = heal(job, lease, mark, NOW_MS, model.floor.epoch, floorOf(model.floor));
    return {
      model: { ...model, job: healed.job ?? job, lease: healed.lease ?? lease },
      answer: healed.answer,
      transitions: [change(model, { operation: "heal", after: healed.job, fence, mark })],
    };
  }
  const after = { ...job, progress: '"half"' };
  return {
    model: { ...model, job: after },
    answer: { outcome: "applied" },
    transitions: [change(model, { operation: "write", after, fence })],
  };
}

function playOperator(model: Model, op: "cancel" | "revoke" | "retry" | "delete"): Played {
  const { job, lease } = model;
  if (job === undefined) return { model, answer: { outcome: "gone" }, transitions: [] };
  if (op === "delete") {
    if (!mayDelete(job)) return { model, answer: { outcome: "conflict", state: job.state }, transitions: [] };
    const { state, generation } = job;
    const transition = change(model, { operation: "delete", after: undefined });
    const deletedGeneration = Math.max(model.floor.deletedGeneration, generation) as Generation;
    return {
      model: { ...model, job: undefined, floor: { ...model.floor, deletedGeneration } },
      answer: { outcome: "applied", state, generation, pending: false },
      transitions: [transition],
    };
  }
  const floor = floorOf(model.floor);
  const done =
    op === "cancel"
      ? cancel(job, NOW_MS)
      : op === "revoke"
        ? revoke(job, lease, NOW_MS, floor)
        : retry(job, false, false, floor);
  const { why: _, ...answer } = done.answer as typeof done.answer & { readonly why?: string };
  return {
    model: { ...model, job: done.job ?? job, lease: done.lease ?? lease },
    answer,
    transitions: done.job === undefined ? [] : [change(model, { operation: op, after: done.job })],
  };
}

function playOtherRun(model: Model): Played {
  const name = model.job?.resource;
  if (typeof name !== "string") return { model, answer: "none", transitions: [] };
  const lease = model.lease === undefined ? undefined : rebasedLease(model.lease, NOW_MS);
  if (!isFree(lease, NOW_MS)) return { model: { ...model, lease }, answer: "held", transitions: [] };
  const request = { name, owner: OTHER_RUN, leaseMs: LEASE_MS, heldFor: null };
  const taken = acquire(lease, request, NOW_MS, floorOf(model.floor));
  return { model: { ...model, lease: taken }, answer: taken.generation, transitions: [] };
}
