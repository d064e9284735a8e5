/** Rows of jobs as the audit has them, of PostgreSQL and SQLite, live and ended, as records of the protocol core. */

import type { Generation, JobId, Owner } from "../../../../src/protocol/identity.ts";
import type {
  EndReason,
  JobRecord,
  JobState,
  RaisedBy,
  SettleOperation,
} from "../../../../src/protocol/job.ts";

export type Row = Readonly<Record<string, unknown>>;

/** SQLite's phases of ended rows. */
const ENDED_PHASES: Readonly<Record<number, JobState>> = { 4: "completed", 5: "failed", 6: "cancelled" };

/** Written anew instead of asking the stores' own mapping, which the checker would then share the mistakes of. */
export function jobOf(row: Row): JobRecord {
  const text = (column: string): string | null => (row[column] == null ? null : String(row[column]));
  const whole = (column: string): number | null => (row[column] == null ? null : Number(row[column]));
  const owner = text("owner") as Owner | null;
  const state = stateOf(row, owner);
  const isLive = state === "ready" || state === "leased";
  const settledOwner = text("settled_owner") as Owner | null;
  return {
    jobId: String(row["job_id"]) as JobId,
    seq: whole("seq") ?? 0,
    name: text("name") ?? "",
    queue: text("queue") ?? "",
    priority: whole("priority") ?? 0,
    state,
    runAtMs: isLive ? whole("run_at") : null,
    owner: isLive ? owner : null,
    leaseUntilMs: isLive && owner !== null ? whole("lease_until") : null,
    leaseMs: whole("lease_ms") ?? 0,
    generation: (whole("generation") ?? 0) as Generation,
    raisedBy: text("raised_by") as RaisedBy | null,
    attempt: whole("attempt") ?? 0,
    maxAttempts: whole("max_attempts") ?? 0,
    expiredCount: whole("expired_count") ?? 0,
    run: whole("run") ?? 1,
    heals: whole("heals") ?? 0,
    cancelRequested: row["cancel_requested"] === true || row["cancel_requested"] === 1,
    resource: text("resource"),
    resourceGeneration: whole("resource_generation") as Generation | null,
    uniqueKey: text("unique_key"),
    blockedBy: whole("blocked_by") ?? 0,
    maxRunMs: whole("max_run_ms"),
    backoff: null,
    input: text("input") ?? "",
    result: text("result"),
    error: text("error"),
    progress: text("progress"),
    createdAtMs: whole("created_at") ?? 0,
    claimedAtMs: whole("claimed_at"),
    finishedAtMs: whole("finished_at"),
    endReason: text("end_reason") as EndReason | null,
    settled:
      settledOwner === null
        ? null
        : {
            owner: settledOwner,
            generation: (whole("settled_generation") ?? 0) as Generation,
            operation: text("settled_operation") as SettleOperation,
          },
  };
}

function stateOf(row: Row, owner: Owner | null): JobState {
  if (typeof row["state"] === "string") return row["state"] as JobState;
  const ended = ENDED_PHASES[Number(row["phase"])];
  return ended ?? (owner === null ? "ready" : "leased");
}
