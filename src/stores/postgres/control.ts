/** What operators do: C13 cancel and revoke, C14 delete and prune, C18 retry; and C19 heal, which an owner asks for. */

import {
  type ControlAnswer,
  type Controlled,
  cancel as cancelInCore,
  type HealAnswer,
  heal as healInCore,
  mayDelete,
  retry as retryInCore,
  revocationToken,
  revoke as revokeInCore,
} from "../../protocol/control.ts";
import {
  type Fence,
  type FencingToken,
  type Generation,
  type JobId,
  jobLine,
  type Owner,
} from "../../protocol/identity.ts";
import { isEnded, type JobRecord } from "../../protocol/job.ts";
import type { JournalKind } from "../../protocol/journal.ts";
import { isCurrent } from "../../protocol/outcome.ts";
import { STEPS_PER_PRUNE } from "../../protocol/step.ts";
import { claimNote, endNotes } from "../run-notes.ts";
import { onEnd } from "./departures.ts";
import { note } from "./journal.ts";
import { type Moment, readMomentToRaise } from "./moment.ts";
import type { Sql } from "./statements.ts";
import {
  countEnd,
  findJob,
  letNextHave,
  lockJobs,
  lockLease,
  lockUnlocked,
  saveFreedLease,
  saveJob,
  type Tail,
  tailOf,
} from "./transition.ts";

export function cancel(sql: Sql, ids: readonly JobId[]): Promise<ControlAnswer[]> {
  return each(sql, ids, (job, { nowMs }) =>
    apply(sql, job, "cancel_requested", nowMs, cancelInCore(job, nowMs)),
  );
}

export function revoke(
  sql: Sql,
  ids: readonly JobId[],
  nobody: () => Owner,
): Promise<(ControlAnswer & { readonly token?: FencingToken })[]> {
  return each(sql, ids, async (job, { nowMs, floor }) => {
    const done = revokeInCore(job, await lockLease(sql, job.resource), nowMs, floor);
    const answer = await apply(sql, job, "revoked", nowMs, done);
    return done.job === undefined
      ? answer
      : { ...answer, token: revocationToken(done.job, done.lease, nobody()) };
  });
}

export function retry(sql: Sql, ids: readonly JobId[], again: boolean): Promise<ControlAnswer[]> {
  return each(sql, ids, async (job, { nowMs, floor }) => {
    const isKeyTaken = isEnded(job) && !(await takeKey(sql, job));
    return apply(sql, job, "retried", nowMs, retryInCore(job, again, isKeyTaken, floor));
  });
}

async function takeKey(sql: Sql, job: JobRecord): Promise<boolean> {
  if (job.uniqueKey === null) return true;
  const wanted = [{ name: job.name, key: job.uniqueKey, job_id: job.jobId }];
  return (await sql.rows("take keys", [JSON.stringify(wanted)])).length > 0;
}

/** Locks all jobs, and then does to each, in the order given, what is to be done. */
async function each<A extends ControlAnswer>(
  sql: Sql,
  ids: readonly JobId[],
  act: (job: JobRecord, moment: Moment) => Promise<A | ControlAnswer>,
): Promise<(A | ControlAnswer)[]> {
  const jobs = await lockJobs(sql, ids);
  if (jobs.size === 0) return ids.map(() => ({ outcome: "gone" }));
  const moment = await readMomentToRaise(sql);
  const touched = new Set<JobId>();
  const answers: (A | ControlAnswer)[] = [];
  for (const id of ids) {
    const job = touched.has(id) ? await findJob(sql, id) : jobs.get(id);
    touched.add(id);
    answers.push(job === undefined ? { outcome: "gone" } : await act(job, moment));
  }
  return answers;
}

/** Writes one transition, and notes it together with what it overwrites of the last run. */
async function apply(
  sql: Sql,
  job: JobRecord,
  kind: JournalKind,
  nowMs: number,
  done: Controlled,
): Promise<ControlAnswer> {
  if (done.job === undefined) return done.answer;
  const after = done.job;
  const told = after.state === "leased" ? [] : [...claimNote(job), ...endNotes(job)];
  // A job that is cancelled at once tells so by its row; so does the cancel that ends a revoked one.
  const own =
    kind === "cancel_requested" && isEnded(after)
      ? []
      : [{ kind, atMs: nowMs, owner: null, generation: after.generation }];
  await note(sql, jobLine(job.jobId), [...told, ...own]);
  if (done.lease !== undefined) await saveFreedLease(sql, done.lease, nowMs);
  await saveJob(sql, job, after);
  return done.answer;
}

/** Undefined when the fence is not current, or somebody else has the row. */
export async function heal(sql: Sql, fence: Fence, mark: Generation): Promise<HealAnswer | undefined> {
  const job = (await lockUnlocked(sql, [fence.jobId])).get(fence.jobId);
  if (job === undefined) return undefined;
  const lease = await lockLease(sql, job.resource);
  const moment = await readMomentToRaise(sql);
  if (!isCurrent(job, fence, moment.epochStart, lease)) return undefined;
  const healed = healInCore(job, lease, mark, moment.nowMs, moment.epoch, moment.floor);
  if (healed.job === undefined) return healed.answer;
  await note(sql, jobLine(fence.jobId), [
    ...claimNote(job),
    { kind: "healed", atMs: moment.nowMs, owner: fence.owner, generation: healed.job.generation },
  ]);
  if (healed.lease !== undefined) await saveFreedLease(sql, healed.lease, moment.nowMs);
  await saveJob(sql, job, healed.job);
  return healed.answer;
}

export function deleteJobs(sql: Sql, ids: readonly JobId[]): Promise<ControlAnswer[]> {
  return each(sql, ids, async (job): Promise<ControlAnswer> => {
    if (!mayDelete(job))
      return { outcome: "conflict", state: job.state, why: "it is leased; cancel or revoke it first" };
    const [deleted] = await sql.rows<Tail>("delete job", [job.jobId]);
    if (deleted !== undefined) await onEnd(sql, job, undefined, tailOf(deleted));
    await sql.rows("raise deleted generation", [job.generation]);
    if (isEnded(job)) await countEnd(sql, job, -1);
    else if (job.resource !== null) await letNextHave(sql, job.resource);
    return { outcome: "applied", state: job.state, generation: job.generation, pending: false };
  });
}

export interface Ages {
  readonly completedMs: number;
  readonly failedMs: number;
}

/** How much of the history one pruning looks at, beyond what it may remove. */
const LOOKED_AT = 1_000;
/** How many lines of counts are made one. */
const FOLDED = 1_000;

interface Pruned {
  readonly gone: number;
  readonly looked_at: number;
  readonly old: number;
  /** More than `old` where their steps were too many for one piece. */
  readonly of_age: number;
  readonly last_old: number | null;
  readonly last: number | null;
}

/** Bounded pieces of the history, going on where the last one stopped (C14, C16). */
export class Pruner {
  #after = 0;

  async run(sql: Sql, ages: Ages, limit: number): Promise<number> {
    const piece = limit + LOOKED_AT;
    const [pruned] = await sql.rows<Pruned>("prune", [
      this.#after,
      piece,
      limit,
      ages.completedMs,
      ages.failedMs,
      STEPS_PER_PRUNE,
    ]);
    const { gone, looked_at: lookedAt, old, of_age: ofAge, last_old: lastOld, last } = pruned as Pruned;
    const next = old === limit || old < ofAge ? lastOld : lookedAt === piece ? last : null;
    this.#after = next ?? 0;
    await sql.rows("prune leases", [ages.completedMs, limit]);
    await sql.rows("fold counts", [FOLDED]);
    await sql.rows("prune batches", [Math.max(ages.completedMs, ages.failedMs), limit]);
    return gone;
  }
}
