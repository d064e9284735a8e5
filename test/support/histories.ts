/**
 * Small histories: what two owners, an operator and time can do to one job, as the protocol core decides it. `explore`
 * walks all of them up to a length; `replay` does the same steps on a store and compares every answer and every row.
 */

import { claim, endLapsed, lapse, rebased } from "../../src/protocol/claim.ts";
import { cancel, heal, mayDelete, retry, revoke } from "../../src/protocol/control.ts";
import { newRecord, type NewJob } from "../../src/protocol/enqueue.ts";
import { epochStart, type FloorState, floorOf } from "../../src/protocol/floor.ts";
import { type Fence, generation, type Generation, type JobId, type Owner } from "../../src/protocol/identity.ts";
import type { Transition } from "../../src/protocol/invariants.ts";
import { isEnded, type JobRecord, startsInFuture } from "../../src/protocol/job.ts";
import { acquire, isFree, type NamedLease, rebasedLease, releasedLease } from "../../src/protocol/named-lease.ts";
import { isCurrent, refusal } from "../../src/protocol/outcome.ts";
import { renew } from "../../src/protocol/renew.ts";
import { settle, type Settlement } from "../../src/protocol/settle.ts";

export type OwnerName = "A" | "B";

/** One step. `generation` is relative to the floor at the beginning, so that a history can be replayed on any store. */
export type Step =
  | { readonly op: "claim"; readonly owner: OwnerName; readonly takeover: boolean }
  | {
      readonly op: "renew" | "complete" | "fail" | "fail for good" | "release" | "progress" | "heal";
      readonly owner: OwnerName;
      /** Which of the generations given out so far, in order, is shown. */
      readonly grant: number;
    }
  | { readonly op: "lapse" | "step back" | "cancel" | "revoke" | "retry" | "raise floor" | "delete" }
  | { readonly op: "lapse of the resource" | "other run of the resource" };

export interface Model {
  readonly job: JobRecord | undefined;
  readonly lease: NamedLease | undefined;
  readonly floor: FloorState;
  /** Every generation that a claim gave out, in order. */
  readonly grants: readonly Generation[];
}

export interface Played {
  readonly model: Model;
  readonly answer: unknown;
  readonly transitions: readonly Transition[];
}

export const LEASE_MS = 120_000;
export const LAPSE_MS = 150_000;
export const HOUR_MS = 3_600_000;
export const RETRY_MS = 60_000;
export const MAX_ATTEMPTS = 2;

/** The store time of the model: it stands still, and leases move. */
export const NOW_MS: number = Date.UTC(2026, 5, 1);

/** Who takes the resource by name once it is free, and keeps it. */
export const OTHER_RUN = "C" as Owner;

export function newHistoryJob(jobId: JobId, queue: string, resource: string | null): NewJob {
  return {
    jobId,
    mayRepeat: false,
    name: "history",
    queue,
    priority: 0,
    due: { delayMs: 0 },
    leaseMs: LEASE_MS,
    maxAttempts: MAX_ATTEMPTS,
    maxRunMs: null,
    backoff: null,
    resource,
    unique: null,
    input: "null",
  };
}

export function beginning(job: NewJob, floor: FloorState): Model {
  return { job: newRecord(job, 1, NOW_MS), lease: undefined, floor, grants: [] };
}

/** Every step that makes sense after `model`: any owner with any generation ever given out, and the operator's. */
export function stepsAfter(model: Model): Step[] {
  const steps: Step[] = [];
  // Whether a claim that finds no job meets a lease from the future, to bring it back (T5), is a store's own affair.
  const meets = model.job !== undefined && !isEnded(model.job);
  const mayClaim = meets || model.lease === undefined || !startsInFuture(model.lease, NOW_MS);
  for (const owner of ["A", "B"] as const) {
    for (const takeover of mayClaim ? [true, false] : []) steps.push({ op: "claim", owner, takeover });
    model.grants.forEach((_, grant) => {
      for (const op of ["renew", "complete", "fail", "fail for good", "release", "progress", "heal"] as const) {
        steps.push({ op, owner, grant });
      }
    });
  }
  for (const op of ["cancel", "revoke", "retry", "raise floor", "delete"] as const) steps.push({ op });
  const times = [model.job?.leaseUntilMs, model.job?.runAtMs, model.lease?.leaseUntilMs].filter(isTime);
  // Time is moved only where that makes a difference, or the histories would have no end.
  if (times.some((timeMs) => timeMs > NOW_MS)) steps.push({ op: "lapse" });
  if (times.some((timeMs) => timeMs <= NOW_MS + HOUR_MS / 2)) steps.push({ op: "step back" });
  if (typeof model.job?.resource === "string") {
    steps.push({ op: "other run of the resource" });
    if ((model.lease?.leaseUntilMs ?? 0) > NOW_MS) steps.push({ op: "lapse of the resource" });
  }
  return steps;
}

const isTime = (timeMs: number | null | undefined): timeMs is number => typeof timeMs === "number";

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

export function fenceOf(model: Model, step: { readonly owner: OwnerName; readonly grant: number }): Fence {
  const jobId = (model.job?.jobId ?? GONE) as JobId;
  return { jobId, owner: step.owner as Owner, generation: model.grants[step.grant] ?? generation(0) };
}

/** The id that a deleted job is asked for under: any will do. */
const GONE = "00000000-0000-4000-8000-000000000000";

function quiet(model: Model): Played {
  return { model, answer: "done", transitions: [] };
}

function moved<T extends JobRecord | NamedLease>(record: T | undefined, byMs: number): T | undefined {
  if (record === undefined) return undefined;
  const later = (timeMs: number | null): number | null => (timeMs === null ? null : timeMs + byMs);
  const times = { leaseUntilMs: later(record.leaseUntilMs) };
  return "runAtMs" in record ? { ...record, ...times, runAtMs: later(record.runAtMs) } : { ...record, ...times };
}

function change(model: Model, transition: Omit<Transition, "before" | "nowMs" | "floor">): Transition {
  return { before: model.job, nowMs: NOW_MS, floor: model.floor, ...transition };
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
    return { model: { ...model, job: settled.job, lease: settled.lease ?? lease }, answer: settled.answer, transitions: [transition] };
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
  return { model: { ...model, job: after }, answer: { outcome: "applied" }, transitions: [change(model, { operation: "write", after, fence })] };
}

/** A destination's mark that the store has never given out, three above what it has. */
export function markAbove(model: Model): Generation {
  return generation(Math.max(model.job?.generation ?? 0, floorOf(model.floor)) + 3);
}

export function settlementOf(op: string, fence: Fence): Settlement | undefined {
  if (op === "complete") return { operation: "complete", fence, result: '"done"' };
  if (op === "release") return { operation: "release", fence, delayMs: 0 };
  if (op === "fail") return { operation: "fail", fence, error: '"no"', retryInMs: RETRY_MS };
  if (op === "fail for good") return { operation: "fail", fence, error: '"no"', retryInMs: "final" };
  return undefined;
}

function playOperator(model: Model, op: "cancel" | "revoke" | "retry" | "delete"): Played {
  const { job, lease } = model;
  if (job === undefined) return { model, answer: { outcome: "gone" }, transitions: [] };
  if (op === "delete") {
    if (!mayDelete(job)) return { model, answer: { outcome: "conflict", state: job.state }, transitions: [] };
    const { state, generation } = job;
    const transition = change(model, { operation: "delete", after: undefined });
    return { model: { ...model, job: undefined }, answer: { outcome: "applied", state, generation, pending: false }, transitions: [transition] };
  }
  const floor = floorOf(model.floor);
  const done =
    op === "cancel" ? cancel(job, NOW_MS) : op === "revoke" ? revoke(job, lease, NOW_MS, floor) : retry(job, false, false, floor);
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

/** What stores are compared by: everything that is not an absolute time. */
export function shape(job: JobRecord | undefined, lease: NamedLease | undefined, nowMs: number): unknown {
  const time = (timeMs: number | null): string =>
    timeMs === null ? "none" : timeMs <= nowMs ? "past" : timeMs <= nowMs + LEASE_MS ? "ahead" : "far ahead";
  const held = lease === undefined ? undefined : { ...lease, leaseUntilMs: time(lease.leaseUntilMs) };
  if (job === undefined) return { held };
  const { seq: _, jobId: __, createdAtMs: ___, claimedAtMs, finishedAtMs, runAtMs, leaseUntilMs, queue: ____, ...rest } = job;
  return {
    ...rest,
    held,
    lease: time(leaseUntilMs),
    due: time(runAtMs) === "none" || time(runAtMs) === "past",
    claimed: claimedAtMs !== null,
    finished: finishedAtMs !== null,
  };
}

/** A history in words, for whoever reads a failure. */
export function told(steps: readonly Step[]): string {
  return steps.map(toldStep).join(" · ");
}

function toldStep(step: Step): string {
  if ("grant" in step) return `${step.op} by ${step.owner} with grant ${step.grant + 1}`;
  if (step.op !== "claim") return step.op;
  return `claim by ${step.owner}${step.takeover ? "" : " without takeover"}`;
}
