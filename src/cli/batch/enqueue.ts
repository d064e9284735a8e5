/** The second reading of a batch: its lines become jobs, thousands a second, under ids that make a repeat harmless. */

import { StoreBusyError, UnknownOutcomeError } from "../../errors.ts";
import type { EnqueueAnswer, JobId, Leasehold } from "../../index.ts";
import { isEnded } from "../../protocol/job.ts";
import { BadLine, type Entry, type EntryReader } from "./entries.ts";
import { type Line, linesOf } from "./lines.ts";
import type { BatchJob } from "./pending.ts";

export interface Enqueueing {
  readonly path: string;
  readonly reader: EntryReader;
  readonly leasehold: Leasehold;
  /** Runs what failed in an earlier run of the batch again. */
  readonly retryFailed: boolean;
  readonly interrupted: AbortSignal;
  idOf(text: string): JobId;
  /** Jobs that have yet to end, as they become known. */
  onJobs(jobs: readonly BatchJob[]): void;
}

/** What became of the lines. */
export interface Counted {
  /** Handed to the store. */
  lines: number;
  /** New to it. */
  enqueued: number;
  /** The unique key is another job's. */
  conflicts: number;
  /** Ended in an earlier run, and not to be run again. */
  readonly before: { completed: number; failed: number; cancelled: number };
}

/** Lines handed to the store together. */
const CHUNK = 1_000;
const TRIES = 10;

interface Job extends BatchJob, Entry {}

/** Goes on to the end of the file, to a line that is not what it was, or until interrupted. */
export async function enqueueLines(task: Enqueueing): Promise<Counted> {
  const counted: Counted = {
    lines: 0,
    enqueued: 0,
    conflicts: 0,
    before: { completed: 0, failed: 0, cancelled: 0 },
  };
  let chunk: Job[] = [];
  for await (const line of linesOf(task.path)) {
    if (task.interrupted.aborted || "problem" in line) break;
    const entry = readAgain(line, task.reader);
    if (entry === undefined) break;
    chunk.push({ ...entry, jobId: task.idOf(line.text), line: line.number });
    if (chunk.length < CHUNK) continue;
    task.onJobs(await enqueueChunk(task, chunk, counted));
    chunk = [];
  }
  if (chunk.length > 0 && !task.interrupted.aborted) task.onJobs(await enqueueChunk(task, chunk, counted));
  return counted;
}

/** Undefined when the line has changed since it was checked. */
function readAgain(line: Line, reader: EntryReader): Entry | undefined {
  try {
    return reader.read(line);
  } catch (error) {
    if (error instanceof BadLine) return undefined;
    throw error;
  }
}

async function enqueueChunk(task: Enqueueing, chunk: readonly Job[], counted: Counted): Promise<BatchJob[]> {
  const entries = chunk.map(({ job, input, options, jobId }) => ({ ...options, job, input, jobId }));
  const answers = await whileUnanswered(() => task.leasehold.enqueueMany(entries));
  counted.lines += chunk.length;

  const toEnd: BatchJob[] = [];
  const failed: BatchJob[] = [];
  for (const [index, answer] of answers.entries()) {
    const { jobId } = answer;
    const line = chunk[index]?.line ?? 0;
    if (answer.outcome === "conflict") counted.conflicts += 1;
    else if (!hadEnded(answer)) toEnd.push({ jobId, line });
    else if (answer.state === "failed" && task.retryFailed) failed.push({ jobId, line });
    else counted.before[answer.state as keyof Counted["before"]] += 1;
    if (answer.outcome === "enqueued") counted.enqueued += 1;
  }
  if (failed.length > 0) await task.leasehold.retry(failed.map(({ jobId }) => jobId));
  return [...toEnd, ...failed];
}

function hadEnded(answer: EnqueueAnswer): answer is EnqueueAnswer & { readonly outcome: "repeated" } {
  return answer.outcome === "repeated" && isEnded(answer);
}

/** The ids are derived, so that a call without an answer, or one that found the store busy, may be repeated. */
async function whileUnanswered<T>(call: () => Promise<T>): Promise<T> {
  for (let left = TRIES; ; left--) {
    try {
      return await call();
    } catch (error) {
      const again = error instanceof StoreBusyError || error instanceof UnknownOutcomeError;
      if (!again || left <= 1) throw error;
    }
  }
}
