/** C1. What has a unique key goes by unique-keys.ts. */

import type { EnqueueAnswer, NewJob } from "../../protocol/enqueue.ts";
import { waitForBusyResources } from "./busy-resources.ts";
import { writeAlike } from "./enqueue-alike.ts";
import { enqueuePlain } from "./enqueue-plain.ts";
import { readMoment } from "./moment.ts";
import { type Candidate, putLongInput, type RowSettings, rowOf } from "./new-row.ts";
import { blockNew, prepareOrder } from "./order.ts";
import { queueId } from "./queues.ts";
import type { Statements } from "./statements.ts";
import { enqueueUnique } from "./unique-keys.ts";

/** Writes the jobs and answers for each; in the caller's transaction or in one of ours. */
export function enqueue(statements: Statements, jobs: readonly NewJob[]): EnqueueAnswer[] {
  const plainly = enqueuePlain(statements, jobs);
  if (plainly !== undefined) return plainly;
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
    enqueueKeyless(statements, plain, nowMs, answers);
    plain = [];
    answers[candidate.index] = enqueueUnique(statements, candidate, nowMs);
  }
  enqueueKeyless(statements, plain, nowMs, answers);
  blockNew(statements, candidates, answers, batches, nowMs);
  return answers;
}

function batchOf({ batch }: NewJob, batches: ReadonlyMap<string, number>): number | null {
  return batch?.as === "member" ? (batches.get(batch.name) ?? null) : null;
}

/** Jobs without a key: those that follow each other and differ in id and input alone go in one statement. */
function enqueueKeyless(
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
  const { job_id: _, input: __, ...settings } = (alike[0] as Candidate).row;
  const written = writeAlike(
    statements,
    settings as RowSettings,
    alike.map(({ job, row }) => [job.jobId, row["input"] as string | null]),
    nowMs,
  );
  for (const [n, { job, index }] of alike.entries()) {
    const answer = written[n] as EnqueueAnswer;
    answers[index] = answer;
    if (answer.outcome === "enqueued") putLongInput(statements, job);
  }
}
