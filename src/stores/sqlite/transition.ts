/**
 * Everything but the hot path (claim, renew, complete) is done by the protocol core itself: read the row, let the pure
 * function decide, write what it decided. The write lock is held throughout, so nothing can come in between.
 */

import type { Fence, JobId } from "../../protocol/identity.ts";
import { jobLine } from "../../protocol/identity.ts";
import { isEnded, type JobRecord, type SettleOperation } from "../../protocol/job.ts";
import type { NamedLease } from "../../protocol/named-lease.ts";
import { isCurrent, type Refusal, refusal } from "../../protocol/outcome.ts";
import { onEnd } from "./departures.ts";
import { EndCounts } from "./end-counts.ts";
import { noteRefusal } from "./journal.ts";
import type { Moment } from "./moment.ts";
import { queueId } from "./queues.ts";
import { jobFromRow, jobParameters, leaseFromRow, PHASE } from "./rows.ts";
import type { Statements } from "./statements.ts";

export function findJob(statements: Statements, jobId: JobId): JobRecord | undefined {
  const row = statements.get("find job", { job_id: jobId });
  return row === undefined ? undefined : jobFromRow(row);
}

export function findLease(statements: Statements, name: string | null): NamedLease | undefined {
  if (name === null) return undefined;
  const row = statements.get("find lease", { name });
  return row === undefined ? undefined : leaseFromRow(row);
}

/** The job and its resource's lease when `fence` is current, else the refusal, noted in the journal (C9). */
export function underFence(
  statements: Statements,
  fence: Fence,
  operation: string,
  moment: Moment,
  settling?: SettleOperation,
): { readonly job: JobRecord; readonly lease: NamedLease | undefined } | Refusal {
  const job = findJob(statements, fence.jobId);
  const lease = findLease(statements, job?.resource ?? null);
  if (job !== undefined && isCurrent(job, fence, moment.epochStart, lease)) return { job, lease };
  return refuse(statements, job, fence, operation, moment, settling);
}

export function refuse(
  statements: Statements,
  job: JobRecord | undefined,
  fence: Fence,
  operation: string,
  moment: Moment,
  settling?: SettleOperation,
): Refusal {
  const answer = refusal(job, fence, settling, moment.epochStart);
  if (answer.outcome === "stale") {
    noteRefusal(statements, jobLine(fence.jobId), fence, operation, answer.generation, moment.nowMs);
  }
  return answer;
}

/**
 * Writes `after` in the place of `before`, counts a job that ends or comes back, frees whoever waits for its end, and lets
 * the next job have a resource that nobody needs any more.
 */
export function saveJob(statements: Statements, before: JobRecord, after: JobRecord): void {
  const parameters = jobParameters(before, after);
  // Others may have waited for longer, or be more urgent.
  if (before.resource !== null && parameters["phase"] === PHASE.ready) parameters["phase"] = PHASE.waiting;
  const saved = statements.get<{ tail: number | null }>("save job", parameters);
  if (saved === undefined) throw new Error(`Job ${before.jobId} changed while it was being written`);
  if (isEnded(before) !== isEnded(after)) {
    const counts = new EndCounts();
    const queue = queueId(statements, before.queue);
    if (isEnded(after)) counts.add(queue, after.state);
    else counts.add(queue, before.state, -1);
    counts.write(statements);
  }
  onEnd(statements, before, after, saved.tail, after.finishedAtMs ?? before.finishedAtMs ?? 0);
  if (before.resource !== null && after.state !== "leased") letNextHave(statements, before.resource);
}

/** Frees the first job that waits for `resource`; no harm is done when it turns out to be held after all. */
export function letNextHave(statements: Statements, resource: string): void {
  statements.run("let next have resource", { resource });
}

export function saveLease(
  statements: Statements,
  lease: NamedLease,
  times: { readonly claimedAtMs: number; readonly releasedAtMs: number | null },
): void {
  statements.run("save lease", {
    name: lease.name,
    owner: lease.owner,
    lease_until: lease.leaseUntilMs,
    lease_ms: lease.leaseMs,
    generation: lease.generation,
    held_for: lease.heldFor,
    last_owner: lease.lastOwner,
    heals: lease.heals,
    claimed_at: times.claimedAtMs,
    released_at: times.releasedAtMs,
  });
}

/** Writes a lease that nobody holds any more. */
export function saveFreedLease(statements: Statements, lease: NamedLease, nowMs: number): void {
  const row = statements.get<{ claimed_at: number }>("find lease", { name: lease.name });
  saveLease(statements, lease, { claimedAtMs: row?.claimed_at ?? nowMs, releasedAtMs: nowMs });
}
