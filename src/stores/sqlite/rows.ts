/** Between rows and the records of the protocol core. */

import { type Generation, generation, type JobId, type Line, type Owner } from "../../protocol/identity.ts";
import type { EndReason, JobRecord, JobState, RaisedBy, SettleOperation } from "../../protocol/job.ts";
import type { JournalEntry, JournalKind } from "../../protocol/journal.ts";
import type { NamedLease } from "../../protocol/named-lease.ts";
import type { Backoff } from "../../protocol/retry.ts";
import type { Row } from "./statements.ts";

/** `leasehold_job.phase`: the state, and for a live job which index it stands in. */
export const PHASE = {
  /** Behind the holder of its unique key, which is not its own yet. */
  following: -2,
  blocked: -1,
  delayed: 0,
  ready: 1,
  leased: 2,
  waiting: 3,
  completed: 4,
  failed: 5,
  cancelled: 6,
} as const;

const ENDED: readonly JobState[] = ["completed", "failed", "cancelled"];

/** A live row with an owner is leased, also when its lease has lapsed and the sweep has laid it open. */
export function stateOf(phase: number, owner: unknown): JobState {
  if (phase >= PHASE.completed) return ENDED[phase - PHASE.completed] as JobState;
  return owner === null ? "ready" : "leased";
}

export function phaseOf(job: Pick<JobRecord, "state" | "runAtMs">): number {
  if (job.state === "ready") return job.runAtMs === null ? PHASE.ready : PHASE.delayed;
  return PHASE[job.state];
}

export function jobFromRow(row: Row): JobRecord {
  const owner = row["owner"] as Owner | null;
  return {
    jobId: row["job_id"] as JobId,
    seq: row["seq"] as number,
    name: row["name"] as string,
    queue: row["queue_name"] as string,
    priority: row["priority"] as number,
    state: stateOf(row["phase"] as number, owner),
    runAtMs: row["run_at"] as number | null,
    owner,
    leaseUntilMs: row["lease_until"] as number | null,
    leaseMs: row["lease_ms"] as number,
    generation: generation(row["generation"] as number),
    raisedBy: row["raised_by"] as RaisedBy | null,
    attempt: row["attempt"] as number,
    maxAttempts: row["max_attempts"] as number,
    expiredCount: row["expired_count"] as number,
    run: row["run"] as number,
    cancelRequested: row["cancel_requested"] === 1,
    input: row["whole_input"] as string,
    result: row["result"] as string | null,
    createdAtMs: row["created_at"] as number,
    claimedAtMs: row["claimed_at"] as number | null,
    finishedAtMs: row["finished_at"] as number | null,
    endReason: row["end_reason"] as EndReason | null,
    ...moreFromRow(row),
  };
}

type More = Pick<
  JobRecord,
  | "heals"
  | "resource"
  | "resourceGeneration"
  | "uniqueKey"
  | "blockedBy"
  | "maxRunMs"
  | "backoff"
  | "error"
  | "progress"
  | "settled"
>;

/** What most jobs have nothing in. */
function moreFromRow(row: Row): More {
  const settledOwner = row["settled_owner"] as Owner | null;
  return {
    heals: row["heals"] as number,
    resource: row["resource"] as string | null,
    resourceGeneration: row["resource_generation"] as Generation | null,
    uniqueKey: row["unique_key"] as string | null,
    blockedBy: row["blocked_by"] as number,
    maxRunMs: row["max_run_ms"] as number | null,
    backoff: row["backoff"] === null ? null : (JSON.parse(row["backoff"] as string) as Backoff),
    error: row["error"] as string | null,
    progress: row["progress"] as string | null,
    settled:
      settledOwner === null
        ? null
        : {
            owner: settledOwner,
            generation: row["settled_generation"] as Generation,
            operation: row["settled_operation"] as SettleOperation,
          },
  };
}

/** The parameters of `save job`, which writes `after` in the place of `before`. */
export function jobParameters(before: JobRecord, after: JobRecord): Record<string, unknown> {
  return {
    seq: before.seq,
    expected_owner: before.owner,
    expected_generation: before.generation,
    phase: phaseOf(after),
    run_at: after.runAtMs,
    owner: after.owner,
    lease_until: after.leaseUntilMs,
    generation: after.generation,
    raised_by: after.raisedBy,
    attempt: after.attempt,
    expired_count: after.expiredCount,
    run: after.run,
    heals: after.heals,
    cancel_requested: after.cancelRequested ? 1 : 0,
    resource_generation: after.resourceGeneration,
    result: after.result,
    error: after.error,
    progress: after.progress,
    finished_at: after.finishedAtMs,
    end_reason: after.endReason,
    settled_owner: after.settled?.owner ?? null,
    settled_generation: after.settled?.generation ?? null,
    settled_operation: after.settled?.operation ?? null,
    blocked_by: after.blockedBy,
  };
}

export function leaseFromRow(row: Row): NamedLease {
  return {
    name: row["name"] as string,
    owner: row["owner"] as Owner | null,
    leaseUntilMs: row["lease_until"] as number | null,
    leaseMs: row["lease_ms"] as number,
    generation: generation(row["generation"] as number),
    heldFor: row["held_for"] as JobId | null,
    lastOwner: row["last_owner"] as Owner | null,
    heals: row["heals"] as number,
  };
}

export function entryFromRow(row: Row, line: Line): JournalEntry {
  const current = row["current"] as Generation | null;
  const operation = row["operation"] as string | null;
  const message = row["message"] as string | null;
  const count = row["count"] as number;
  return {
    line,
    kind: row["kind"] as JournalKind,
    atMs: row["at"] as number,
    owner: row["owner"] as Owner | null,
    generation: generation(row["generation"] as number),
    ...(current === null ? {} : { current }),
    ...(operation === null ? {} : { operation }),
    ...(message === null ? {} : { message }),
    ...(count === 1 ? {} : { count }),
  };
}
