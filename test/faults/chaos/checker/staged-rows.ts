/** A record of the protocol core as a row of PostgreSQL, live or of the history. */

import { isEnded, type JobRecord } from "../../../../src/protocol/job.ts";

export function rowOf(job: JobRecord): Record<string, unknown> {
  const common = {
    job_id: job.jobId,
    seq: job.seq,
    name: job.name,
    queue: 1,
    priority: job.priority,
    lease_ms: job.leaseMs,
    generation: job.generation,
    raised_by: job.raisedBy,
    attempt: job.attempt,
    max_attempts: job.maxAttempts,
    expired_count: job.expiredCount,
    run: job.run,
    heals: job.heals,
    resource: job.resource,
    unique_key: job.uniqueKey,
    input: job.input,
    error: job.error,
    progress: job.progress,
    created_at: job.createdAtMs,
    claimed_at: job.claimedAtMs,
    settled_owner: job.settled?.owner ?? null,
    settled_generation: job.settled?.generation ?? null,
    settled_operation: job.settled?.operation ?? null,
  };
  if (isEnded(job)) {
    const { state, endReason: end_reason, result, finishedAtMs: finished_at } = job;
    return { ...common, state, end_reason, result, finished_at };
  }
  return {
    ...common,
    ready: job.runAtMs === null,
    waiting: false,
    cancel_requested: job.cancelRequested,
    owner: job.owner,
    lease_until: job.leaseUntilMs,
    run_at: job.runAtMs,
    resource_generation: job.resourceGeneration,
    blocked_by: job.blockedBy === 0 ? null : job.blockedBy,
  };
}
