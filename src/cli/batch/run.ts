/** A batch from its first line to its summary. */

import { systemWorld } from "../../clock/system.ts";
import type { World } from "../../clock/world.ts";
import { StoreBusyError } from "../../errors.ts";
import type { Leasehold } from "../../index.ts";
import { isEnded } from "../../protocol/job.ts";
import { CliError, EXIT } from "../exit.ts";
import type { Jobs } from "../jobs-module.ts";
import { type Checked, checkLines } from "./check.ts";
import type { Crew } from "./crew.ts";
import { type Entry, type EntryReader, entryReader } from "./entries.ts";
import { lineIds } from "./ids.ts";
import { linesOf } from "./lines.ts";
import { type BatchJob, Pending } from "./pending.ts";
import type { Progress } from "./progress.ts";
import type { Source } from "./source.ts";
import { failureOf, type Summary } from "./summary.ts";

export interface Batch {
  readonly name: string;
  readonly source: Source;
  readonly jobs: Jobs;
  readonly jobName: string | undefined;
  readonly retryFailed: boolean;
}

export interface Tools {
  readonly leasehold: Leasehold;
  readonly crew: Crew;
  readonly progress: Progress;
  /** Fires with the name of the signal when the batch is to stop before its end. */
  readonly interrupted: AbortSignal;
}

/** Lines handed to the store together. */
const CHUNK = 1_000;
const BUSY_TRIES = 10;
const FIRST_LOOK_MS = 50;
const SLOWEST_LOOK_MS = 1_000;

export async function runBatch(batch: Batch, tools: Tools): Promise<Summary> {
  const world = systemWorld();
  const reader = entryReader(batch.jobs, batch.jobName, world);
  const version = await batch.source.version();
  const { lines, queues } = await checkLines(batch.source, reader);

  const beganMs = world.clock.monotonicMs();
  const pending = new Pending((ids) => tools.leasehold.getMany(ids));
  const counted = await enqueueAll(batch, tools, { reader, pending, lines, queues });
  if ((await batch.source.version()) !== version) {
    throw new CliError(
      EXIT.failed,
      `${batch.source.shown} was changed while it was read. What was read is enqueued; start the same command again.`,
    );
  }
  await untilEnded(pending, tools, world, (done, failed) =>
    tools.progress.update(counted.alreadyDone() + done, lines, counted.before.failed + failed),
  );
  await tools.crew.stop();
  await pending.look(); // what was finished while stopping

  const seconds = (world.clock.monotonicMs() - beganMs) / 1000;
  const ended = { ...pending.ended };
  return {
    batch: batch.name,
    lines,
    enqueued: counted.enqueued,
    alreadyDone: counted.before,
    ended,
    notEnded: pending.size,
    conflicts: counted.conflicts,
    reclaimed: tools.crew.counts.reclaimed,
    seconds: Number(seconds.toFixed(2)),
    jobsPerSecond: Math.round((ended.completed + ended.failed) / Math.max(seconds, 0.001)),
    interruptedBy: tools.interrupted.aborted ? String(tools.interrupted.reason) : null,
    failures: pending.failures.map(failureOf),
  };
}

class Counted {
  enqueued = 0;
  conflicts = 0;
  readonly before = { completed: 0, failed: 0, cancelled: 0 };

  alreadyDone(): number {
    return this.before.completed + this.before.failed + this.before.cancelled;
  }
}

interface Chunk {
  readonly entries: Entry[];
  readonly jobs: BatchJob[];
}

async function enqueueAll(
  batch: Batch,
  tools: Tools,
  { reader, pending, lines, queues }: Checked & { readonly reader: EntryReader; readonly pending: Pending },
): Promise<Counted> {
  const counted = new Counted();
  const idOf = lineIds(batch.name, batch.jobName);
  let chunk: Chunk = { entries: [], jobs: [] };
  const send = async (): Promise<void> => {
    pending.add(await enqueueChunk(batch, tools, chunk, counted));
    if (pending.size > 0) tools.crew.start(queues);
    tools.crew.check();
    chunk = { entries: [], jobs: [] };
    tools.progress.update(counted.alreadyDone(), lines, counted.before.failed);
  };
  for await (const line of linesOf(batch.source.path)) {
    if (tools.interrupted.aborted) return counted;
    if ("problem" in line) break; // changed since it was checked, which is told later
    chunk.entries.push(await reader.read(line));
    chunk.jobs.push({ jobId: idOf(line.text), line: line.number });
    if (chunk.entries.length >= CHUNK) await send();
  }
  if (chunk.entries.length > 0) await send();
  return counted;
}

/** Enqueues the lines; what has yet to end is returned, what had ended in an earlier run is counted. */
async function enqueueChunk(batch: Batch, tools: Tools, chunk: Chunk, counted: Counted): Promise<BatchJob[]> {
  const answers = await whileBusy(() =>
    tools.leasehold.enqueueMany(
      chunk.entries.map(({ job, input, options }, index) => ({
        ...options,
        job,
        input,
        jobId: chunk.jobs[index]?.jobId as string,
      })),
    ),
  );
  const toEnd: BatchJob[] = [];
  for (const [index, answer] of answers.entries()) {
    const line = chunk.jobs[index]?.line ?? 0;
    if (answer.outcome === "conflict") counted.conflicts += 1;
    else if (answer.outcome === "repeated" && isEnded(answer)) {
      if (answer.state === "failed" && batch.retryFailed && (await retried(tools, answer.jobId))) {
        toEnd.push({ jobId: answer.jobId, line });
      } else {
        counted.before[answer.state as "completed" | "failed" | "cancelled"] += 1;
      }
    } else {
      if (answer.outcome === "enqueued") counted.enqueued += 1;
      toEnd.push({ jobId: answer.jobId, line });
    }
  }
  return toEnd;
}

/** A call that found the store busy wrote nothing; each try has waited for its lock as long as a call may. */
async function whileBusy<T>(call: () => Promise<T>): Promise<T> {
  for (let left = BUSY_TRIES; ; left--) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StoreBusyError) || left <= 1) throw error;
    }
  }
}

async function retried(tools: Tools, jobId: BatchJob["jobId"]): Promise<boolean> {
  const answer = await tools.leasehold.retry(jobId);
  return answer.outcome === "applied";
}

async function untilEnded(
  pending: Pending,
  tools: Tools,
  world: World,
  onProgress: (done: number, failed: number) => void,
): Promise<void> {
  let waitMs = FIRST_LOOK_MS;
  let seen = -1;
  while (pending.size > 0 && !tools.interrupted.aborted) {
    tools.crew.check();
    await pending.look();
    const { completed, failed } = tools.crew.counts;
    const ended = Object.values(pending.ended).reduce((sum, count) => sum + count, 0);
    // The store's count lags behind by a chunk; the workers' own may miss what others did.
    onProgress(Math.max(ended, completed + failed), Math.max(pending.ended.failed, failed));
    waitMs = ended + completed + failed > seen ? FIRST_LOOK_MS : Math.min(2 * waitMs, SLOWEST_LOOK_MS);
    seen = ended + completed + failed;
    if (pending.size > 0) await world.timers.sleep(waitMs, tools.interrupted);
  }
}
