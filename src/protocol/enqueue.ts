/** C1 and C17: what becomes of a job that is handed to the store. */

import type { After } from "./blocking.ts";
import { type Generation, generation, type JobId } from "./identity.ts";
import type { EndReason, JobRecord, JobState } from "./job.ts";
import type { Backoff } from "./retry.ts";

export type OnConflict = "keep" | "throw" | "replace" | "followUp";

/** A job as it reaches the store: validated, its input already JSON. */
export interface NewJob {
  readonly jobId: JobId;
  /** True when this call may repeat an earlier one (the caller derived the id): the same id is then the same job. */
  readonly mayRepeat: boolean;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  /** When it is due: after so many ms of the store's clock, or at a store time the caller chose. 0: at once. */
  readonly due: { readonly delayMs: number } | { readonly runAtMs: number };
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly maxRunMs: number | null;
  readonly backoff: Backoff | null;
  readonly resource: string | null;
  readonly unique: { readonly key: string; readonly onConflict: OnConflict } | null;
  readonly input: string;
  /** What it waits for. Never together with `replace` or `followUp`. */
  readonly after?: After | null;
  /** The batch that it is a member of, or at whose end it runs. */
  readonly batch?: { readonly name: string; readonly as: "member" | "then" } | null;
}

/** What happened, and to which job. */
export type EnqueueAnswer =
  | {
      readonly outcome: "enqueued";
      readonly jobId: JobId /** C17 replace: this one was ended for it. */;
      readonly ended?: JobId;
      /** C17 followUp: it is blocked until this one has ended. */
      readonly behind?: JobId;
    }
  /** The same job id is already there, live or in history: one job (C1). */
  | {
      readonly outcome: "repeated";
      readonly jobId: JobId;
      readonly state: JobState;
      readonly endReason: EndReason | null;
    }
  /** The key is taken and stays with this job: `keep`, or `replace` met a leased one. */
  | { readonly outcome: "kept"; readonly jobId: JobId; readonly state: JobState }
  /** `replace` changed this waiting job in place, or `followUp` the one that is blocked behind the live one. */
  | { readonly outcome: "replaced"; readonly jobId: JobId }
  /** `throw`: the key is taken by this job; nothing was written. */
  | { readonly outcome: "conflict"; readonly jobId: JobId; readonly state: JobState };

export function newRecord(job: NewJob, seq: number, nowMs: number): JobRecord {
  return {
    jobId: job.jobId,
    seq,
    name: job.name,
    state: "ready",
    owner: null,
    leaseUntilMs: null,
    generation: generation(0) as Generation,
    raisedBy: null,
    attempt: 0,
    expiredCount: 0,
    run: 1,
    heals: 0,
    cancelRequested: false,
    resourceGeneration: null,
    result: null,
    error: null,
    progress: null,
    createdAtMs: nowMs,
    claimedAtMs: null,
    finishedAtMs: null,
    endReason: null,
    settled: null,
    blockedBy: 0,
    ...replaceable(job, nowMs),
  };
}

/** What `replace` changes in place in a job that nobody has claimed yet. Its id and its place (`seq`) stay. */
export function replaceable(
  job: NewJob,
  nowMs: number,
): Pick<
  JobRecord,
  | "queue"
  | "priority"
  | "runAtMs"
  | "leaseMs"
  | "maxAttempts"
  | "maxRunMs"
  | "backoff"
  | "resource"
  | "uniqueKey"
  | "input"
> {
  return {
    queue: job.queue,
    priority: job.priority,
    runAtMs: dueAtMs(job, nowMs),
    leaseMs: job.leaseMs,
    maxAttempts: job.maxAttempts,
    maxRunMs: job.maxRunMs,
    backoff: job.backoff,
    resource: job.resource,
    uniqueKey: job.unique?.key ?? null,
    input: job.input,
  };
}

/** Null when due at once: such a job is due whatever the clock says later. */
function dueAtMs(job: NewJob, nowMs: number): number | null {
  if ("runAtMs" in job.due) return job.due.runAtMs <= nowMs ? null : job.due.runAtMs;
  return job.due.delayMs === 0 ? null : nowMs + job.due.delayMs;
}

/** C17, for a job whose key is held by the live job `holder`. */
export function onKeyTaken(
  holder: Pick<JobRecord, "state" | "generation">,
  onConflict: OnConflict,
): "keep" | "conflict" | "change" | "end" | "follow" {
  if (onConflict === "followUp") return "follow";
  if (onConflict === "throw") return "conflict";
  if (onConflict === "keep" || holder.state === "leased") return "keep";
  return holder.generation === 0 ? "change" : "end";
}

/** C17: a waiting job that was claimed before is ended for the one that replaces it. */
export function replacedBy(holder: JobRecord, nowMs: number): JobRecord {
  const end = { state: "cancelled", endReason: "replaced", finishedAtMs: nowMs } as const;
  return { ...holder, ...end, blockedBy: 0, runAtMs: null };
}
