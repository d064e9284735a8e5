/** C1 and C17 with all that belongs to them: repeats, unique keys, and whatever a caller's transaction brings. */

import { type EnqueueAnswer, type NewJob, onKeyTaken, replacedBy } from "../../protocol/enqueue.ts";
import { type JobId, jobLine } from "../../protocol/identity.ts";
import type { EndReason, JobRecord, JobState } from "../../protocol/job.ts";
import { busyResources } from "./busy-resources.ts";
import { note } from "./journal.ts";
import { readMoment } from "./moment.ts";
import { blockNew, findFollower, follow, placeInOrder } from "./order.ts";
import { newRow, type PlacedJob } from "./rows.ts";
import type { Sql } from "./statements.ts";
import { lockJob, saveJob } from "./transition.ts";

/** How often a job is tried that others take away and put back meanwhile. */
const TRIES = 10;

/** Writes the jobs and answers for each. Their queues are there. In a transaction. */
export async function enqueue(sql: Sql, given: readonly NewJob[]): Promise<EnqueueAnswer[]> {
  const { placed: jobs, batches } = await placeInOrder(sql, given);
  const answers: EnqueueAnswer[] = new Array(jobs.length);
  const known = await repeatsOfUnique(sql, jobs);
  const holders = await takeKeys(
    sql,
    jobs.filter(({ jobId, unique }) => unique !== null && !known.has(jobId)),
  );
  // In the order given, which becomes the order of arrival; and of two jobs with one key the first holds it.
  const winners = jobs.flatMap((job, index) =>
    known.has(job.jobId) || (job.unique !== null && holders.get(keyOf(job)) !== job) ? [] : [{ job, index }],
  );
  const added = await add(
    sql,
    winners.map(({ job }) => job),
  );
  winners.forEach(({ index }, n) => {
    answers[index] = added[n] as EnqueueAnswer;
  });
  for (const [index, job] of jobs.entries()) {
    if (answers[index] !== undefined) continue;
    const repeated = known.get(job.jobId);
    answers[index] = repeated ?? (await enqueueUnique(sql, job));
  }
  await blockNew(sql, jobs, answers, batches);
  return answers;
}

function keyOf(job: NewJob): string {
  return JSON.stringify([job.name, job.unique?.key]);
}

/** A job that is there already is that job, whatever has become of its key. */
async function repeatsOfUnique(
  sql: Sql,
  jobs: readonly NewJob[],
): Promise<ReadonlyMap<JobId, EnqueueAnswer>> {
  const suspects = jobs.filter(({ mayRepeat, unique }) => mayRepeat && unique !== null);
  return suspects.length === 0
    ? new Map()
    : statesOf(
        sql,
        suspects.map(({ jobId }) => jobId),
      );
}

/** Takes the keys that are free, the first job of the batch for each; answers who has got which. */
async function takeKeys(sql: Sql, jobs: readonly NewJob[]): Promise<ReadonlyMap<string, NewJob>> {
  const first = new Map<string, NewJob>();
  for (const job of jobs) if (!first.has(keyOf(job))) first.set(keyOf(job), job);
  if (first.size === 0) return first;
  const wanted = [...first.values()].map((job) => ({
    name: job.name,
    key: job.unique?.key,
    job_id: job.jobId,
  }));
  const rows = await sql.rows<{ job_id: JobId }>("take keys", [JSON.stringify(wanted)]);
  const taken = new Set(rows.map(({ job_id }) => job_id));
  return new Map([...first].filter(([, job]) => taken.has(job.jobId)));
}

/** Inserts jobs, whose keys are theirs. What was not inserted was there before (C1). */
async function add(sql: Sql, jobs: readonly PlacedJob[]): Promise<EnqueueAnswer[]> {
  if (jobs.length === 0) return [];
  let left = jobs;
  const isNew = new Set<JobId>();
  let repeats: ReadonlyMap<JobId, EnqueueAnswer> = new Map();
  // A row may go away between the insert that met it and the look at it.
  for (let attempt = 0; left.length > 0; attempt++) {
    if (attempt === TRIES) throw new Error("Jobs were neither there nor could they be written");
    for (const jobId of await insert(sql, left)) isNew.add(jobId);
    const missing = left.filter(({ jobId }) => !isNew.has(jobId));
    const repeatedIds = [...missing.map(({ jobId }) => jobId), ...twice(jobs)];
    if (repeatedIds.length === 0) break;
    repeats = await statesOf(sql, repeatedIds);
    left = missing.filter(({ jobId }) => !repeats.has(jobId));
  }
  const answered = new Set<JobId>();
  const answers = jobs.map(({ jobId }): EnqueueAnswer => {
    const isFirst = isNew.has(jobId) && !answered.has(jobId);
    answered.add(jobId);
    return isFirst ? { outcome: "enqueued", jobId } : (repeats.get(jobId) as EnqueueAnswer);
  });
  await giveKeysBack(
    sql,
    jobs.filter(({ jobId, unique }) => unique !== null && !isNew.has(jobId)),
  );
  return answers;
}

function twice(jobs: readonly NewJob[]): JobId[] {
  const seen = new Set<JobId>();
  return jobs.flatMap(({ jobId }) => {
    if (seen.has(jobId)) return [jobId];
    seen.add(jobId);
    return [];
  });
}

async function insert(sql: Sql, jobs: readonly PlacedJob[]): Promise<JobId[]> {
  const waiting = await busyResources(sql, jobs);
  const given = JSON.stringify(jobs.map((job, n) => newRow(job, n, waiting.has(job))));
  const rows = await sql.rows<{ job_id: JobId }>("enqueue", [given]);
  const inserted = rows.map(({ job_id }) => job_id);
  const mayRepeat = new Set(jobs.filter((job) => job.mayRepeat).map(({ jobId }) => jobId));
  const suspects = inserted.filter((jobId) => mayRepeat.has(jobId));
  if (suspects.length === 0) return inserted;
  // A job that ended while we waited for its row is in history now, which the insert's own snapshot could not see.
  const back = await sql.rows<{ job_id: JobId }>("take back", [JSON.stringify(suspects)]);
  const takenBack = new Set(back.map(({ job_id }) => job_id));
  return inserted.filter((jobId) => !takenBack.has(jobId));
}

async function giveKeysBack(sql: Sql, jobs: readonly NewJob[]): Promise<void> {
  for (const { name, unique, jobId } of jobs) await sql.rows("give key back", [name, unique?.key, jobId]);
}

async function statesOf(sql: Sql, ids: readonly JobId[]): Promise<Map<JobId, EnqueueAnswer>> {
  const rows = await sql.rows<{ job_id: JobId; state: JobState; end_reason: EndReason | null }>(
    "states of jobs",
    [JSON.stringify([...new Set(ids)])],
  );
  return new Map(
    rows.map(({ job_id: jobId, state, end_reason: endReason }) => [
      jobId,
      { outcome: "repeated", jobId, state, endReason },
    ]),
  );
}

/** A job whose key is taken: looks for the live job that holds it, and does what the caller wants then (C17). */
async function enqueueUnique(sql: Sql, job: PlacedJob): Promise<EnqueueAnswer> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    if ((await takeKeys(sql, [job])).size > 0) return (await add(sql, [job]))[0] as EnqueueAnswer;
    const holder = await findHolder(sql, job);
    if (holder === undefined) continue; // it has ended meanwhile
    const { jobId, state } = holder;
    if (jobId === job.jobId) return { outcome: "repeated", jobId, state, endReason: holder.endReason };
    switch (onKeyTaken(holder, job.unique?.onConflict ?? "throw")) {
      case "conflict":
        return { outcome: "conflict", jobId, state };
      case "keep":
        return { outcome: "kept", jobId, state };
      case "change":
        await changeInPlace(sql, holder, job);
        return { outcome: "replaced", jobId };
      case "end": {
        const { nowMs } = await readMoment(sql);
        await saveJob(sql, holder, replacedBy(holder, nowMs));
        // One that was blocked behind it has the key now, and is changed in its place.
        if ((await takeKeys(sql, [job])).size === 0) continue;
        const [added] = await add(sql, [job]);
        return added?.outcome === "enqueued" ? { ...added, ended: jobId } : (added as EnqueueAnswer);
      }
      case "follow": {
        const answer = await followUp(sql, job, holder);
        if (answer === undefined) continue; // the one behind it has ended meanwhile
        return answer;
      }
    }
  }
  throw new Error(`The unique key of job ${job.jobId} went from hand to hand`);
}

/** C17, behind `holder`, which is locked: changes the one that is there, or is the one. */
async function followUp(sql: Sql, job: PlacedJob, holder: JobRecord): Promise<EnqueueAnswer | undefined> {
  const known = await findFollower(sql, holder);
  if (known !== undefined) {
    const behind = await lockJob(sql, known);
    if (behind === undefined || (await findFollower(sql, holder)) !== known) return undefined;
    if (known === job.jobId)
      return { outcome: "repeated", jobId: known, state: behind.state, endReason: behind.endReason };
    await changeInPlace(sql, behind, job);
    return { outcome: "replaced", jobId: known };
  }
  const [added] = await add(sql, [{ ...job, blockedBy: 1 }]);
  if (added?.outcome !== "enqueued") return added;
  await follow(sql, job, holder);
  return { ...added, behind: holder.jobId };
}

/** With its row locked, so that it is still what it was when it is changed or ended. */
async function findHolder(sql: Sql, job: NewJob): Promise<JobRecord | undefined> {
  const find = () => sql.rows<{ job_id: JobId }>("find holder of key", [job.name, job.unique?.key]);
  const [held] = await find();
  if (held === undefined) return undefined;
  const holder = await lockJob(sql, held.job_id);
  const [stillHeld] = await find();
  return stillHeld?.job_id === held.job_id ? holder : undefined;
}

async function changeInPlace(sql: Sql, holder: JobRecord, job: NewJob): Promise<void> {
  await sql.rows("replace waiting", [holder.jobId, JSON.stringify(newRow(job))]);
  const { nowMs } = await readMoment(sql);
  const { generation } = holder;
  await note(sql, jobLine(holder.jobId), [{ kind: "replaced", atMs: nowMs, owner: null, generation }]);
}
