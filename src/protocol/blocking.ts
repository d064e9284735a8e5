/**
 * Jobs that wait for others (section 1): behind a live job of their unique key (C17, *follow-up*), after named jobs, or
 * for the end of a batch. Such a job is `ready` and *blocked*: no claim takes it until those that it waits for let it go.
 */

import type { JobId } from "./identity.ts";
import type { EndReason, JobRecord, JobState } from "./job.ts";

/**
 * What becomes of a job when one that it waits for fails or is cancelled. `fail`: it ends as failed (`dependency`),
 * and so on down the line. `run`: any end will do. `wait`: until an operator's retry of that job completes.
 */
export type OnFailure = "fail" | "run" | "wait";

export const ON_FAILURE: readonly OnFailure[] = ["fail", "run", "wait"];

/** The jobs that one waits for. */
export interface After {
  readonly ids: readonly JobId[];
  readonly onFailure: OnFailure;
}

/** How a job that others wait for went away. `deleted`: it never ended, or cannot be retried any more. */
export type Departure = "completed" | "failed" | "cancelled" | "deleted";

/** One thing that a blocked job waits for. */
export type Blocker =
  | {
      readonly kind: "job";
      readonly jobId: JobId;
      readonly state: JobState | "gone";
      readonly onFailure: OnFailure;
    }
  | { readonly kind: "batch"; readonly name: string };

/** What a job waits for, and which batch it belongs to; for people. */
export interface Waits {
  /** At most 100 of them; `blockedBy` of the record says how many there are. */
  readonly blockers: readonly Blocker[];
  readonly batch: string | null;
}

/** What the departure of one job does to another that waits for it. */
export function onDeparture(how: Departure, onFailure: OnFailure): "free" | "fail" | "wait" {
  if (how === "completed" || onFailure === "run") return "free";
  // What is deleted can never be retried, so nobody may wait for that.
  return how === "deleted" ? "fail" : onFailure;
}

/** One of those that it waits for has let it go. A delay counts from the enqueue, so it may have passed meanwhile. */
export function freed(job: JobRecord): JobRecord {
  return { ...job, blockedBy: Math.max(0, job.blockedBy - 1) };
}

/** It can never run. Its generation stays: nobody has ever held it. */
export function failedByDependency(job: JobRecord, nowMs: number): JobRecord {
  return { ...job, ...DEPENDENCY_END, blockedBy: 0, runAtMs: null, finishedAtMs: nowMs };
}

const DEPENDENCY_END: { readonly state: JobState; readonly endReason: EndReason } = {
  state: "failed",
  endReason: "dependency",
};

/** What a batch has come to. Its members are those jobs that were enqueued with its name and were not there before. */
export interface BatchCounts {
  readonly name: string;
  readonly total: number;
  readonly completed: number;
  /** Ended as failed, or as cancelled; deleted while it was live counts as cancelled. */
  readonly failed: number;
  readonly cancelled: number;
  /** The job that runs when all have ended; no member is added any more once it is given. */
  readonly thenId: JobId | null;
}

/** A batch without members has ended, too. */
export function hasEnded(batch: Omit<BatchCounts, "name" | "thenId">): boolean {
  return batch.completed + batch.failed + batch.cancelled >= batch.total;
}
