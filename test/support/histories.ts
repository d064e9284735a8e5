/**
 * Small histories: what two owners, an operator and time can do to one job. `play` (play.ts) tells what the protocol core
 * makes of a step, `explore` walks all histories up to a length, and `Replayer` does the same steps on a store.
 */

import { type NewJob, newRecord } from "../../src/protocol/enqueue.ts";
import { type FloorState, floorOf } from "../../src/protocol/floor.ts";
import {
  type Fence,
  type Generation,
  generation,
  type JobId,
  type Owner,
} from "../../src/protocol/identity.ts";
import { isEnded, type JobRecord, startsInFuture } from "../../src/protocol/job.ts";
import type { NamedLease } from "../../src/protocol/named-lease.ts";
import type { Settlement } from "../../src/protocol/settle.ts";

export type OwnerName = "A" | "B";

/** One step. A fence is told by which grant it was, so that a history can be replayed above any floor. */
export type Step =
  | { readonly op: "claim"; readonly owner: OwnerName; readonly takeover: boolean }
  | {
      readonly op: "renew" | "complete" | "fail" | "fail for good" | "release" | "progress" | "heal";
      readonly owner: OwnerName;
      /** Which of the generations given out so far, in order, is shown. */
      readonly grant: number;
    }
  | {
      readonly op:
        | "lapse"
        | "step back"
        | "small step back"
        | "cancel"
        | "revoke"
        | "retry"
        | "raise floor"
        | "delete";
    }
  | { readonly op: "lapse of the resource" | "other run of the resource" };

export interface Model {
  readonly job: JobRecord | undefined;
  readonly lease: NamedLease | undefined;
  readonly floor: FloorState;
  /** Every generation that a claim gave out, in order. */
  readonly grants: readonly Generation[];
}

export const LEASE_MS = 120_000;
export const LAPSE_MS = 150_000;
export const HOUR_MS = 3_600_000;
/** Within the margin, so that T5 does not apply. */
export const SMALL_STEP_MS = 5_000;
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
      for (const op of [
        "renew",
        "complete",
        "fail",
        "fail for good",
        "release",
        "progress",
        "heal",
      ] as const) {
        steps.push({ op, owner, grant });
      }
    });
  }
  for (const op of ["cancel", "revoke", "retry", "raise floor", "delete"] as const) steps.push({ op });
  const times = [model.job?.leaseUntilMs, model.job?.runAtMs, model.lease?.leaseUntilMs].filter(isTime);
  // Time is moved only where that makes a difference, or the histories would have no end.
  if (times.some((timeMs) => timeMs > NOW_MS)) steps.push({ op: "lapse" });
  if (times.some((timeMs) => timeMs <= NOW_MS + HOUR_MS / 2)) steps.push({ op: "step back" });
  if (times.some((timeMs) => timeMs === NOW_MS + LEASE_MS)) steps.push({ op: "small step back" });
  if (typeof model.job?.resource === "string") {
    steps.push({ op: "other run of the resource" });
    if ((model.lease?.leaseUntilMs ?? 0) > NOW_MS) steps.push({ op: "lapse of the resource" });
  }
  return steps;
}

const isTime = (timeMs: number | null | undefined): timeMs is number => typeof timeMs === "number";

export function fenceOf(model: Model, step: { readonly owner: OwnerName; readonly grant: number }): Fence {
  const jobId = (model.job?.jobId ?? GONE) as JobId;
  return { jobId, owner: step.owner as Owner, generation: model.grants[step.grant] ?? generation(0) };
}

/** The id that a deleted job is asked for under: any will do. */
const GONE = "00000000-0000-4000-8000-000000000000";

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

/** What stores are compared by: everything that is not an absolute time. */
export function shape(job: JobRecord | undefined, lease: NamedLease | undefined, nowMs: number): unknown {
  const time = (timeMs: number | null): string =>
    timeMs === null
      ? "none"
      : timeMs <= nowMs
        ? "past"
        : timeMs <= nowMs + LEASE_MS + 2 * SMALL_STEP_MS
          ? "ahead"
          : "far ahead";
  const held = lease === undefined ? undefined : { ...lease, leaseUntilMs: time(lease.leaseUntilMs) };
  if (job === undefined) return { held };
  const {
    seq: _,
    jobId: __,
    createdAtMs: ___,
    claimedAtMs,
    finishedAtMs,
    runAtMs,
    leaseUntilMs,
    queue: ____,
    ...rest
  } = job;
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
