/** What new jobs wait for: follow-ups (C17), dependencies and batches. */

import { BatchSealedError, UnknownJobError } from "../../errors.ts";
import { type BatchCounts, type Departure, onDeparture, type Waits } from "../../protocol/blocking.ts";
import type { EnqueueAnswer, NewJob } from "../../protocol/enqueue.ts";
import type { JobId } from "../../protocol/identity.ts";
import { isEnded } from "../../protocol/job.ts";
import { countInBatch, type Departed, depart } from "./departures.ts";
import type { Candidate } from "./new-row.ts";
import { stateOf } from "./rows.ts";
import type { Statements } from "./statements.ts";

interface Place {
  readonly job_id: JobId;
  readonly seq: number;
  readonly phase: number;
}

/** Which job ids are there, and where. */
function placesOf(statements: Statements, ids: Iterable<JobId>): Map<JobId, Place> {
  const places = statements.all<Place>("find places", { ids: JSON.stringify([...new Set(ids)]) });
  return new Map(places.map((place) => [place.job_id, place]));
}

/**
 * Before anything is written: jobs must wait for what is there or comes before them, and a sealed batch takes nobody.
 *
 * @returns the ids of the batches by name, opened where they are new
 * @throws {UnknownJobError | BatchSealedError}
 */
export function prepareOrder(
  statements: Statements,
  jobs: readonly NewJob[],
  nowMs: number,
): ReadonlyMap<string, number> {
  const batches = new Map<string, number>();
  const ordered = jobs.filter(({ after, batch }) => after != null || batch != null);
  if (ordered.length === 0) return batches;
  const known = placesOf(
    statements,
    ordered.flatMap(({ jobId, after }) => [jobId, ...(after?.ids ?? [])]),
  );
  const before = new Set<JobId>();
  for (const { jobId, after } of jobs) {
    const unknown = after?.ids.find((id) => !before.has(id) && !known.has(id));
    if (unknown !== undefined) throw new UnknownJobError(jobId, unknown);
    before.add(jobId);
  }
  for (const { jobId, batch } of ordered) {
    if (batch == null || known.has(jobId)) continue;
    const found = statements.get<{ then_job: number | null }>("find batch", { name: batch.name });
    if (found?.then_job != null) throw new BatchSealedError(batch.name);
  }
  for (const { batch } of ordered) {
    if (batch == null || batches.has(batch.name)) continue;
    const opened = statements.get<{ id: number }>("open batch", { name: batch.name, now: nowMs });
    batches.set(batch.name, opened?.id as number);
  }
  return batches;
}

/** Once all jobs of a call are written: those that are new are blocked by what they wait for, and counted. */
export function blockNew(
  statements: Statements,
  candidates: readonly Candidate[],
  answers: readonly EnqueueAnswer[],
  batches: ReadonlyMap<string, number>,
  nowMs: number,
): void {
  const added = candidates.filter(({ index }) => answers[index]?.outcome === "enqueued");
  const waiting = added.filter(({ job }) => job.after != null);
  if (waiting.length > 0) waitForOthers(statements, waiting, candidates, answers, nowMs);
  for (const [name, id] of batches) {
    const ofIt = added.filter(({ job }) => job.batch?.name === name);
    const total = ofIt.filter(({ job }) => job.batch?.as === "member").length;
    const then = ofIt.find(({ job }) => job.batch?.as === "then");
    if (then !== undefined) {
      const place = placesOf(statements, [then.job.jobId]).get(then.job.jobId);
      statements.run("seal batch", { id, then_job: place?.seq });
    }
    countInBatch(statements, id, { total, completed: 0, failed: 0, cancelled: 0 }, nowMs);
  }
}

function waitForOthers(
  statements: Statements,
  waiting: readonly Candidate[],
  candidates: readonly Candidate[],
  answers: readonly EnqueueAnswer[],
  nowMs: number,
): void {
  // A member whose key was taken stands for the job that has it.
  const standsFor = new Map(candidates.map(({ job, index }) => [job.jobId, answers[index]?.jobId as JobId]));
  const idsOf = ({ job }: Candidate): JobId[] => [
    ...new Set(job.after?.ids.map((id) => standsFor.get(id) ?? id)),
  ];
  const places = placesOf(
    statements,
    waiting.flatMap((candidate) => [candidate.job.jobId, ...idsOf(candidate)]),
  );
  const watched = new Set<number>();
  const departed = new Map<number, Departed>();
  for (const candidate of waiting) {
    const { after, jobId } = candidate.job;
    const own = places.get(jobId)?.seq;
    if (own === undefined || after == null) continue;
    let by = 0;
    for (const id of idsOf(candidate)) {
      const place = places.get(id);
      if (place === undefined) continue;
      const state = stateOf(place.phase, null);
      const does = isEnded({ state }) ? onDeparture(state as Departure, after.onFailure) : "wait";
      if (does === "free") continue;
      by += 1;
      statements.run("wait for", { job: own, after: place.seq, on_failure: after.onFailure });
      if (!watched.has(place.seq)) statements.run("watch", { seq: place.seq });
      watched.add(place.seq);
      if (does === "fail") departed.set(place.seq, { seq: place.seq, how: state as Departure });
    }
    statements.run("block", { seq: own, by });
  }
  depart(statements, [...departed.values()], nowMs);
}

/** C17: the new row `job` is blocked behind the live one that holds its key. */
export function follow(statements: Statements, job: JobId, holder: number): void {
  const place = placesOf(statements, [job]).get(job);
  statements.run("wait for", { job: place?.seq, after: holder, on_failure: "run" });
  statements.run("watch", { seq: holder });
}

export function readWaits(statements: Statements, jobId: JobId): Waits | undefined {
  const own = statements.get<{ seq: number; member_of: string | null; waits_for: string | null }>(
    "batches of",
    { job_id: jobId },
  );
  if (own === undefined) return undefined;
  const blockers = statements
    .all<Place & { owner: string | null; on_failure: NonNullable<NewJob["after"]>["onFailure"] }>(
      "blockers",
      {
        job: own.seq,
      },
    )
    .map(({ job_id, phase, owner, on_failure }) => ({
      kind: "job" as const,
      jobId: job_id,
      state: stateOf(phase, owner),
      onFailure: on_failure,
    }));
  const batch = own.waits_for === null ? [] : [{ kind: "batch" as const, name: own.waits_for }];
  return { blockers: [...blockers, ...batch], batch: own.member_of };
}

export function readBatch(statements: Statements, batch: string): BatchCounts | undefined {
  const row = statements.get<Omit<BatchCounts, "thenId"> & { then_id: JobId | null }>("find batch", {
    name: batch,
  });
  if (row === undefined) return undefined;
  const { name, total, completed, failed, cancelled, then_id } = row;
  return { name, total, completed, failed, cancelled, thenId: then_id };
}
