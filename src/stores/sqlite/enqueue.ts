/** C1. What has a unique key goes by unique-keys.ts. */

import type { EnqueueAnswer, NewJob } from "../../protocol/enqueue.ts";
import type { JobId } from "../../protocol/identity.ts";
import type { EndReason } from "../../protocol/job.ts";
import { waitForBusyResources } from "./busy-resources.ts";
import { NEWEST } from "./migrate.ts";
import { readMoment } from "./moment.ts";
import { type Candidate, INLINE_INPUT, putLongInput, rowOf } from "./new-row.ts";
import { blockNew, prepareOrder } from "./order.ts";
import { queueId } from "./queues.ts";
import { stateOf } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { enqueueUnique } from "./unique-keys.ts";

/** Writes the jobs and answers for each; in the caller's transaction or in one of ours. */
export function enqueue(statements: Statements, jobs: readonly NewJob[]): EnqueueAnswer[] {
  const [only] = jobs;
  if (jobs.length === 1 && only !== undefined && enqueueAtOnce(statements, only)) {
    return [{ outcome: "enqueued", jobId: only.jobId }];
  }
  const { nowMs } = readMoment(statements);
  const batches = prepareOrder(statements, jobs, nowMs);
  const queues = new Map<string, number>();
  for (const { queue } of jobs) if (!queues.has(queue)) queues.set(queue, queueId(statements, queue));
  const candidates = jobs.map((job, index) => ({
    job,
    index,
    row: rowOf(job, queues.get(job.queue) as number, nowMs, batchOf(job, batches)),
  }));
  waitForBusyResources(statements, candidates, nowMs);
  const answers: EnqueueAnswer[] = new Array(jobs.length);
  // In the order given, which becomes the order of arrival; and of two jobs with one key the first holds it.
  let plain: Candidate[] = [];
  for (const candidate of candidates) {
    if (candidate.job.unique === null) {
      plain.push(candidate);
      continue;
    }
    enqueuePlain(statements, plain, nowMs, answers);
    plain = [];
    answers[candidate.index] = enqueueUnique(statements, candidate, nowMs);
  }
  enqueuePlain(statements, plain, nowMs, answers);
  blockNew(statements, candidates, answers, batches, nowMs);
  return answers;
}

function batchOf({ batch }: NewJob, batches: ReadonlyMap<string, number>): number | null {
  return batch?.as === "member" ? (batches.get(batch.name) ?? null) : null;
}

/** One statement instead of four for what is enqueued most; false when it takes more than that. */
function enqueueAtOnce(statements: Statements, job: NewJob): boolean {
  const isPlain = job.unique === null && job.resource === null && job.input.length <= INLINE_INPUT;
  if (!isPlain || job.after != null || job.batch != null || !("delayMs" in job.due) || job.due.delayMs !== 0)
    return false;
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

/** Jobs without a key: those that follow each other and differ in id and input alone go in one statement. */
function enqueuePlain(
  statements: Statements,
  plain: readonly Candidate[],
  nowMs: number,
  answers: EnqueueAnswer[],
): void {
  for (let from = 0; from < plain.length; ) {
    let to = from + 1;
    while (to < plain.length && areAlike(plain[from] as Candidate, plain[to] as Candidate)) to++;
    enqueueAlike(statements, plain.slice(from, to), nowMs, answers);
    from = to;
  }
}

function areAlike(one: Candidate, other: Candidate): boolean {
  return SETTINGS.every((column) => one.row[column] === other.row[column]);
}

/** Every column of a new row but its id and input. */
const SETTINGS: readonly string[] = [
  "name",
  "queue",
  "priority",
  "phase",
  "run_at",
  "lease_ms",
  "max_attempts",
  "max_run_ms",
  "backoff",
  "resource",
  "unique_key",
  "blocked_by",
  "tail",
];

function enqueueAlike(
  statements: Statements,
  alike: readonly Candidate[],
  nowMs: number,
  answers: EnqueueAnswer[],
): void {
  const { job_id, input, ...settings } = (alike[0] as Candidate).row;
  const lastSeq = alike.length === 1 ? undefined : statements.get<{ seq: number }>("last seq")?.seq;
  const written =
    alike.length === 1
      ? statements.run("enqueue one", { ...settings, job_id, input, now: nowMs })
      : statements.run("enqueue alike", {
          ...settings,
          jobs: JSON.stringify(alike.map(({ row }) => [row["job_id"], row["input"]])),
          now: nowMs,
        });
  // What was not written was there before (C1).
  const repeats = written < alike.length ? findRepeats(statements, alike, lastSeq) : undefined;
  for (const { job, index } of alike) {
    const repeat = repeats?.(job.jobId);
    answers[index] = repeat ?? { outcome: "enqueued", jobId: job.jobId };
    if (repeat === undefined) putLongInput(statements, job);
  }
}

/**
 * Tells for each id, asked in order, whether it was there before; of one that stands twice, the second was.
 *
 * @param lastSeq the highest before the jobs were written; undefined for a single job, which then was not
 */
function findRepeats(
  statements: Statements,
  alike: readonly Candidate[],
  lastSeq: number | undefined,
): (jobId: JobId) => EnqueueAnswer | undefined {
  const rows = statements.all<Repeated>("states of jobs", {
    ids: JSON.stringify(alike.map(({ job }) => job.jobId)),
  });
  const byId = new Map(rows.map((row) => [row.job_id, row]));
  const isNew = new Set(
    rows.filter((row) => lastSeq !== undefined && row.seq > lastSeq).map((row) => row.job_id),
  );
  return (jobId) => {
    if (isNew.delete(jobId)) return undefined;
    const { phase, owner, end_reason: endReason } = byId.get(jobId) as Repeated;
    return { outcome: "repeated", jobId, state: stateOf(phase, owner), endReason };
  };
}

interface Repeated {
  readonly job_id: JobId;
  readonly seq: number;
  readonly phase: number;
  readonly owner: string | null;
  readonly end_reason: EndReason | null;
}
