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
import type { Refusal } from "../../protocol/outcome.ts";
import { claimNote, endNotes } from "../run-notes.ts";
import { onEnd } from "./departures.ts";
import { EndCounts } from "./end-counts.ts";
import { note } from "./journal.ts";
import { readMoment } from "./moment.ts";
import { queueId } from "./queues.ts";
import type { Statements } from "./statements.ts";
import { boundedBySteps } from "./steps.ts";
import { findJob, findLease, letNextHave, saveFreedLease, saveJob, underFence } from "./transition.ts";

export function cancel(statements: Statements, ids: readonly JobId[]): ControlAnswer[] {
  const { nowMs } = readMoment(statements);
  return ids.map((id) => apply(statements, id, "cancel_requested", nowMs, (job) => cancelInCore(job, nowMs)));
}

export function revoke(
  statements: Statements,
  ids: readonly JobId[],
  nobody: () => Owner,
): (ControlAnswer & { readonly token?: FencingToken })[] {
  const { nowMs, floor } = readMoment(statements);
  return ids.map((id) => {
    let token: FencingToken | undefined;
    const answer = apply(statements, id, "revoked", nowMs, (job) => {
      const done = revokeInCore(job, findLease(statements, job.resource), nowMs, floor);
      if (done.job !== undefined) token = revocationToken(done.job, done.lease, nobody());
      return done;
    });
    return token === undefined ? answer : { ...answer, token };
  });
}

export function retry(statements: Statements, ids: readonly JobId[], again: boolean): ControlAnswer[] {
  const { nowMs, floor } = readMoment(statements);
  return ids.map((id) =>
    apply(statements, id, "retried", nowMs, (job) =>
      retryInCore(job, again, isKeyTaken(statements, job), floor),
    ),
  );
}

function isKeyTaken(statements: Statements, job: JobRecord): boolean {
  if (job.uniqueKey === null) return false;
  const holder = statements.get<{ seq: number }>("find holder of key", {
    name: job.name,
    unique_key: job.uniqueKey,
  });
  return holder !== undefined && holder.seq !== job.seq;
}

/** Runs one transition on one job, and notes it together with what it overwrites of the last run. */
function apply(
  statements: Statements,
  id: JobId,
  kind: JournalKind,
  nowMs: number,
  transition: (job: JobRecord) => Controlled,
): ControlAnswer {
  const job = findJob(statements, id);
  if (job === undefined) return { outcome: "gone" };
  const done = transition(job);
  if (done.job === undefined) return done.answer;
  const after = done.job;
  const keepsItsRun = after.state === "leased";
  const told = keepsItsRun ? [] : [...claimNote(job), ...endNotes(job)];
  // A job that is cancelled at once tells so by its row; so does the cancel that ends a revoked one.
  const own =
    kind === "cancel_requested" && isEnded(after)
      ? []
      : [{ kind, atMs: nowMs, owner: null, generation: after.generation }];
  note(statements, jobLine(id), [...told, ...own]);
  if (done.lease !== undefined) saveFreedLease(statements, done.lease, nowMs);
  saveJob(statements, job, after);
  return done.answer;
}

export function heal(statements: Statements, fence: Fence, mark: Generation): HealAnswer | Refusal {
  const moment = readMoment(statements);
  const current = underFence(statements, fence, "heal", moment);
  if ("outcome" in current) return current;
  const { job, lease } = current;
  const healed = healInCore(job, lease, mark, moment.nowMs, moment.epoch, moment.floor);
  if (healed.job === undefined) return healed.answer;
  note(statements, jobLine(fence.jobId), [
    ...claimNote(job),
    { kind: "healed", atMs: moment.nowMs, owner: fence.owner, generation: healed.job.generation },
  ]);
  if (healed.lease !== undefined) saveFreedLease(statements, healed.lease, moment.nowMs);
  saveJob(statements, job, healed.job);
  return healed.answer;
}

export function deleteJobs(statements: Statements, ids: readonly JobId[]): ControlAnswer[] {
  const { nowMs } = readMoment(statements);
  return ids.map((id) => {
    const job = findJob(statements, id);
    if (job === undefined) return { outcome: "gone" };
    if (!mayDelete(job))
      return { outcome: "conflict", state: job.state, why: "it is leased; cancel or revoke it first" };
    const tail = statements.get<{ tail: number | null }>("tail of", { seq: job.seq })?.tail ?? null;
    remove(statements, job.seq, id);
    onEnd(statements, job, undefined, tail, nowMs);
    statements.run("raise deleted generation", { generation: job.generation });
    const counts = new EndCounts();
    counts.add(queueId(statements, job.queue), job.state, -1);
    counts.write(statements);
    if (job.resource !== null && !isEnded(job)) letNextHave(statements, job.resource);
    return { outcome: "applied", state: job.state, generation: job.generation, pending: false };
  });
}

function remove(statements: Statements, seq: number, id: JobId): void {
  statements.run("delete job", { seq });
  statements.run("drop long input", { seq });
  statements.run("drop steps", { seq });
  statements.run("drop journal", { line: jobLine(id) });
}

export interface Ages {
  readonly completedMs: number;
  readonly failedMs: number;
}

interface Prunable {
  readonly seq: number;
  readonly job_id: JobId;
  readonly queue: number;
  readonly phase: number;
  readonly generation: number;
}

/** Bounded pieces of the history, going on where the last one stopped (C14, C16). */
export class Pruner {
  #after = 0;

  run(statements: Statements, ages: Ages, limit: number): number {
    const { nowMs } = readMoment(statements);
    const old = statements.all<Prunable>("prunable", {
      after: this.#after,
      limit,
      completed_before: nowMs - ages.completedMs,
      failed_before: nowMs - ages.failedMs,
    });
    const rows = boundedBySteps(statements, old);
    const counts = new EndCounts();
    for (const { seq, job_id, queue, phase } of rows) {
      remove(statements, seq, job_id);
      counts.add(queue, phase, -1);
    }
    counts.write(statements);
    const highest = Math.max(0, ...rows.map(({ generation }) => generation));
    statements.run("raise deleted generation", { generation: highest });
    this.#after = old.length < limit && rows.length === old.length ? 0 : (rows.at(-1)?.seq ?? 0);
    this.#pruneLeases(statements, nowMs - ages.completedMs, limit);
    const before = nowMs - Math.max(ages.completedMs, ages.failedMs);
    statements.run("prune batches", { before, limit });
    return rows.length;
  }

  /** A lease that is gone leaves its generation in the floor, so that its name never gets it again. */
  #pruneLeases(statements: Statements, releasedBefore: number, limit: number): void {
    const rows = statements.all<{ name: string; generation: number }>("leases to prune", {
      released_before: releasedBefore,
      limit,
    });
    for (const { name, generation } of rows) {
      statements.run("delete lease", { name });
      statements.run("raise deleted generation", { generation });
    }
  }
}
