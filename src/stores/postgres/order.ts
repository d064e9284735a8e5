/**
 * What new jobs wait for: follow-ups (C17), dependencies and batches. Whoever is to be waited for is locked first, so that
 * its end comes either before, and is seen, or after, and sees who waits.
 */

import { BatchSealedError, UnknownJobError } from "../../errors.ts";
import {
  type BatchCounts,
  type Departure,
  type OnFailure,
  onDeparture,
  type Waits,
} from "../../protocol/blocking.ts";
import type { EnqueueAnswer, NewJob } from "../../protocol/enqueue.ts";
import type { JobId } from "../../protocol/identity.ts";
import { isEnded, type JobRecord, type JobState } from "../../protocol/job.ts";
import { countInBatches, type Departed, depart } from "./departures.ts";
import type { PlacedJob } from "./rows.ts";
import type { Sql } from "./statements.ts";

/** Those of these jobs that are there, live or in history, with their rows locked. */
async function lockPredecessors(sql: Sql, ids: readonly JobId[]): Promise<ReadonlyMap<JobId, JobState>> {
  let missing = [...new Set(ids)];
  // A row may change tables while it is waited for.
  for (const ended of [false, true, false, true]) {
    if (missing.length === 0) break;
    const statement = ended ? "lock ended predecessors" : "lock predecessors";
    const rows = await sql.rows<{ job_id: JobId }>(statement, [JSON.stringify(missing)]);
    const locked = new Set(rows.map(({ job_id }) => job_id));
    missing = missing.filter((id) => !locked.has(id));
  }
  const states = await sql.rows<{ job_id: JobId; state: JobState }>("states of jobs", [
    JSON.stringify([...new Set(ids)]),
  ]);
  return new Map(states.map(({ job_id, state }) => [job_id, state]));
}

/**
 * Before anything is written: jobs must wait for what is there or comes before them, and a sealed batch takes nobody.
 *
 * @returns the jobs as they are to be written, and the ids of their batches by name
 * @throws {UnknownJobError | BatchSealedError}
 */
export async function placeInOrder(
  sql: Sql,
  jobs: readonly NewJob[],
): Promise<{ readonly placed: readonly PlacedJob[]; readonly batches: ReadonlyMap<string, number> }> {
  if (jobs.every(({ after, batch }) => after == null && batch == null)) {
    return { placed: jobs, batches: new Map() };
  }
  await checkPredecessors(sql, jobs);
  const batches = await joinBatches(sql, jobs);
  const placed = jobs.map((job) => ({
    ...job,
    // By how many it is blocked is told once they are all there; at the end of a batch, by that one alone.
    blockedBy: job.after != null || job.batch?.as === "then" ? 1 : null,
    tail: job.batch?.as === "member" ? (batches.get(job.batch.name) ?? null) : null,
  }));
  return { placed, batches };
}

async function checkPredecessors(sql: Sql, jobs: readonly NewJob[]): Promise<void> {
  const ids = jobs.flatMap(({ after }) => after?.ids ?? []);
  if (ids.length === 0) return;
  const known = await lockPredecessors(sql, ids);
  const before = new Set<JobId>();
  for (const { jobId, after } of jobs) {
    const unknown = after?.ids.find((id) => !before.has(id) && !known.has(id));
    if (unknown !== undefined) throw new UnknownJobError(jobId, unknown);
    before.add(jobId);
  }
}

async function joinBatches(sql: Sql, jobs: readonly NewJob[]): Promise<ReadonlyMap<string, number>> {
  const batched = jobs.filter(({ batch }) => batch != null);
  const namesOf = (as: "member" | "then"): string[] => [
    ...new Set(batched.flatMap(({ batch }) => (batch?.as === as ? [batch.name] : []))),
  ];
  const closing = namesOf("then");
  const joining = namesOf("member").filter((name) => !closing.includes(name));
  const ids = new Map<string, number>();
  if (batched.length === 0) return ids;
  await sql.rows("open batches", [JSON.stringify([...closing, ...joining])]);
  for (const [statement, names] of [
    ["close batches", closing],
    ["join batches", joining],
  ] as const) {
    if (names.length === 0) continue;
    const rows = await sql.rows<{ id: number; name: string; then_id: JobId | null }>(statement, [
      JSON.stringify(names),
    ]);
    for (const { id, name, then_id } of rows) {
      ids.set(name, Number(id));
      if (then_id !== null) await refuseNewMembers(sql, name, batched);
    }
  }
  return ids;
}

/** A repeat of the call that brought `then` is none. */
async function refuseNewMembers(sql: Sql, name: string, batched: readonly NewJob[]): Promise<void> {
  const members = batched.filter(({ batch }) => batch?.name === name).map(({ jobId }) => jobId);
  const known = await sql.rows("states of jobs", [JSON.stringify(members)]);
  if (known.length < new Set(members).size) throw new BatchSealedError(name);
}

/** Once all jobs of a call are written: those that are new are blocked by what they wait for, and counted. */
export async function blockNew(
  sql: Sql,
  jobs: readonly PlacedJob[],
  answers: readonly EnqueueAnswer[],
  batches: ReadonlyMap<string, number>,
): Promise<void> {
  const added = jobs.filter((_, index) => answers[index]?.outcome === "enqueued");
  const waiting = added.filter(({ after }) => after != null);
  if (waiting.length > 0) {
    // A member whose key was taken stands for the job that has it.
    const standsFor = new Map(jobs.map(({ jobId }, index) => [jobId, answers[index]?.jobId as JobId]));
    await waitForOthers(sql, waiting, standsFor);
  }
  for (const [name, id] of batches) {
    const then = added.find(({ batch }) => batch?.name === name && batch.as === "then");
    if (then !== undefined) await sql.rows("seal batch", [id, then.jobId]);
    const total = added.filter(({ batch }) => batch?.name === name && batch.as === "member").length;
    // Also for none: whoever folds the line finds out that the batch has ended.
    await countInBatches(sql, [{ batch: id, total, completed: 0, failed: 0, cancelled: 0 }]);
  }
}

async function waitForOthers(
  sql: Sql,
  waiting: readonly NewJob[],
  standsFor: ReadonlyMap<JobId, JobId>,
): Promise<void> {
  const idsOf = ({ after }: NewJob): JobId[] => [...new Set(after?.ids.map((id) => standsFor.get(id) ?? id))];
  const states = await lockPredecessors(sql, waiting.flatMap(idsOf));
  const edges: { after_id: JobId; job_id: JobId; on_failure: OnFailure }[] = [];
  const blocked: { job_id: JobId; by: number }[] = [];
  const departed = new Map<JobId, Departed>();
  for (const job of waiting) {
    const onFailure = job.after?.onFailure as OnFailure;
    let by = 0;
    for (const id of idsOf(job)) {
      const state = states.get(id);
      if (state === undefined) continue;
      const does = isEnded({ state }) ? onDeparture(state as Departure, onFailure) : "wait";
      if (does === "free") continue;
      by += 1;
      edges.push({ after_id: id, job_id: job.jobId, on_failure: onFailure });
      if (does === "fail") departed.set(id, { id, how: state as Departure });
    }
    blocked.push({ job_id: job.jobId, by });
  }
  if (edges.length > 0) {
    await sql.rows("watch", [JSON.stringify([...new Set(edges.map(({ after_id }) => after_id))])]);
    await sql.rows("wait for", [JSON.stringify(edges)]);
  }
  await sql.rows("block", [JSON.stringify(blocked)]);
  await depart(sql, [...departed.values()]);
}

/** C17: the new row of `job` is blocked behind `holder`, which is locked. */
export async function follow(sql: Sql, job: NewJob, holder: JobRecord): Promise<void> {
  const edge = { after_id: holder.jobId, job_id: job.jobId, on_failure: "run" };
  await sql.rows("watch", [JSON.stringify([holder.jobId])]);
  await sql.rows("wait for", [JSON.stringify([edge])]);
  await sql.rows("set follower", [job.name, job.unique?.key, holder.jobId, job.jobId]);
}

export async function findFollower(sql: Sql, holder: JobRecord): Promise<JobId | undefined> {
  const { name, uniqueKey, jobId } = holder;
  const [row] = await sql.rows<{ job_id: JobId }>("find follower", [name, uniqueKey, jobId]);
  return row?.job_id;
}

export async function readWaits(sql: Sql, jobId: JobId): Promise<Waits | undefined> {
  const [own] = await sql.rows<{ member_of: string | null; waits_for: string | null }>("batches of", [jobId]);
  if (own === undefined) return undefined;
  const rows = await sql.rows<{ job_id: JobId; state: JobState; on_failure: OnFailure }>("blockers", [jobId]);
  const blockers = rows.map(({ job_id, state, on_failure }) => ({
    kind: "job" as const,
    jobId: job_id,
    state,
    onFailure: on_failure,
  }));
  const batch = own.waits_for === null ? [] : [{ kind: "batch" as const, name: own.waits_for }];
  return { blockers: [...blockers, ...batch], batch: own.member_of };
}

export async function readBatch(sql: Sql, name: string): Promise<BatchCounts | undefined> {
  return (await sql.rows<BatchCounts>("find batch", [name]))[0];
}
