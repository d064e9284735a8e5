/** C1 for what is enqueued most: due now, without key, resource or predecessors, and alike but for id and input. */

import type { EnqueueAnswer, NewJob } from "../../protocol/enqueue.ts";
import { writeAlike } from "./enqueue-alike.ts";
import { NEWEST } from "./migrate.ts";
import { readMoment } from "./moment.ts";
import { INLINE_INPUT, settingsOf } from "./new-row.ts";
import { queueId } from "./queues.ts";
import type { Statements } from "./statements.ts";

/** One statement instead of four for a lone job; undefined when there is more to be done for these, or to be told. */
export function enqueuePlain(statements: Statements, jobs: readonly NewJob[]): EnqueueAnswer[] | undefined {
  const [first] = jobs;
  if (first === undefined || !areAlike(jobs)) return undefined;
  if (jobs.length === 1) return enqueueAtOnce(statements, first) ? [enqueued(first)] : undefined;
  const { nowMs } = readMoment(statements);
  const settings = settingsOf(first, queueId(statements, first.queue), null);
  return writeAlike(
    statements,
    settings,
    jobs.map(({ jobId, input }) => [jobId, input]),
    nowMs,
  );
}

function enqueueAtOnce(statements: Statements, job: NewJob): boolean {
  const written = statements.run("enqueue at once", {
    job_id: job.jobId,
    name: job.name,
    queue: job.queue,
    priority: job.priority,
    lease_ms: job.leaseMs,
    max_attempts: job.maxAttempts,
    max_run_ms: job.maxRunMs,
    backoff: job.backoff === null ? null : JSON.stringify(job.backoff),
    input: job.input,
    newest: NEWEST,
  });
  return written === 1;
}

function enqueued({ jobId }: NewJob): EnqueueAnswer {
  return { outcome: "enqueued", jobId };
}

/** Told by the jobs themselves: to make a row for each costs more than to write it. */
function areAlike(jobs: readonly NewJob[]): boolean {
  const first = jobs[0] as NewJob;
  return jobs.every(
    (job) =>
      isPlain(job) &&
      job.name === first.name &&
      job.queue === first.queue &&
      job.priority === first.priority &&
      job.leaseMs === first.leaseMs &&
      job.maxAttempts === first.maxAttempts &&
      job.maxRunMs === first.maxRunMs &&
      job.backoff === first.backoff,
  );
}

function isPlain(job: NewJob): boolean {
  if (job.unique !== null || job.resource !== null || job.after != null || job.batch != null) return false;
  return job.input.length <= INLINE_INPUT && "delayMs" in job.due && job.due.delayMs === 0;
}
