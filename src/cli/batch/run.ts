/** A batch from its first line to its summary. */

import { systemWorld } from "../../clock/system.ts";
import type { World } from "../../clock/world.ts";
import type { Leasehold } from "../../index.ts";
import { CliError, EXIT } from "../exit.ts";
import type { Jobs } from "../jobs-module.ts";
import type { Progress } from "../progress.ts";
import { checkLines } from "./check.ts";
import type { Crew } from "./crew.ts";
import { enqueueLines } from "./enqueue.ts";
import { entryReader } from "./entries.ts";
import { lineIds } from "./ids.ts";
import { Pending } from "./pending.ts";
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

const FIRST_LOOK_MS = 50;
const SLOWEST_LOOK_MS = 1_000;

export async function runBatch(batch: Batch, tools: Tools): Promise<Summary> {
  const { leasehold, crew, progress, interrupted } = tools;
  const { source } = batch;
  const world = systemWorld();
  const reader = entryReader(batch.jobs, batch.jobName, world);
  const version = await source.version();
  const { lines, queues } = await checkLines(source, reader, interrupted);

  const beganMs = world.clock.monotonicMs();
  const pending = new Pending((ids) => leasehold.getMany(ids));
  const counted = await enqueueLines({
    path: source.path,
    reader,
    leasehold,
    retryFailed: batch.retryFailed,
    interrupted,
    idOf: lineIds(batch.name, batch.jobName),
    onJobs(jobs) {
      pending.add(jobs);
      // Not before there is something to do: a batch that is started again may be done.
      if (pending.size > 0) crew.start(queues);
      crew.check();
    },
  });
  if ((await source.version()) !== version) {
    throw new CliError(
      EXIT.failed,
      `${source.shown} was changed while it was read. What was read is enqueued; start the same command again.`,
    );
  }
  const { before } = counted;
  const done = before.completed + before.failed + before.cancelled;
  await untilEnded(pending, tools, world, (ended, failed) =>
    progress.update(done + ended, lines, before.failed + failed),
  );
  await crew.stop();
  if (interrupted.aborted) await pending.lookAtAll();

  const seconds = (world.clock.monotonicMs() - beganMs) / 1000;
  const ended = { ...pending.ended };
  return {
    batch: batch.name,
    lines,
    enqueued: counted.enqueued,
    alreadyDone: before,
    ended,
    notEnded: pending.size + lines - counted.lines,
    conflicts: counted.conflicts,
    reclaimed: crew.counts.reclaimed,
    seconds: Number(seconds.toFixed(2)),
    jobsPerSecond: Math.round((ended.completed + ended.failed) / Math.max(seconds, 0.001)),
    interruptedBy: interrupted.aborted ? String(interrupted.reason) : null,
    failures: pending.failures.map(failureOf),
  };
}

async function untilEnded(
  pending: Pending,
  { crew, interrupted }: Tools,
  world: World,
  onProgress: (ended: number, failed: number) => void,
): Promise<void> {
  let waitMs = FIRST_LOOK_MS;
  let seen = -1;
  while (pending.size > 0 && !interrupted.aborted) {
    crew.check();
    await pending.look();
    const { completed, failed } = crew.counts;
    const ended = Object.values(pending.ended).reduce((sum, count) => sum + count, 0);
    // The store's count lags behind by a chunk; the workers' own may miss what others did.
    onProgress(Math.max(ended, completed + failed), Math.max(pending.ended.failed, failed));
    const moved = ended + completed + failed > seen;
    seen = ended + completed + failed;
    waitMs = moved ? FIRST_LOOK_MS : Math.min(2 * waitMs, SLOWEST_LOOK_MS);
    if (pending.size > 0) await world.timers.sleep(waitMs, interrupted);
  }
}
