/** What an operator does: C13 cancel and revoke, C14 delete and prune, C18 retry, pausing, raising the floor. */

import {
  type ControlAnswer,
  type Controlled,
  cancel,
  mayDelete,
  retry,
  revocationToken,
  revoke,
} from "../../protocol/control.ts";
import { nextEpoch } from "../../protocol/floor.ts";
import { type FencingToken, type JobId, jobLine, type Owner } from "../../protocol/identity.ts";
import { isEnded, type JobRecord } from "../../protocol/job.ts";
import type { JournalKind } from "../../protocol/journal.ts";
import { prunedTogether } from "../../protocol/step.ts";
import { holderOfKey } from "./enqueuing.ts";
import { noteJob, noteLease } from "./journal.ts";
import { forgetLease } from "./named-leases.ts";
import { isAwaited, pruneBatches } from "./order.ts";
import { dropJob, floorAt, leaseOf, type Moment, putJob, putLease, raiseDeletedGeneration } from "./state.ts";

/** The owner in a revocation's token: nobody is ever called so, hence no write is admitted with it. */
const NOBODY = "nobody" as Owner;

export function cancelJob(at: Moment, id: JobId): ControlAnswer {
  return control(at, id, (job) => ({
    controlled: cancel(job, at.nowMs),
    kind: job.state === "leased" ? "cancel_requested" : "cancelled",
  })).answer;
}

export function revokeJob(at: Moment, id: JobId): ControlAnswer & { readonly token?: FencingToken } {
  const { answer, job, before, lease } = control(at, id, (job) => ({
    controlled: revoke(job, leaseOf(at, job), at.nowMs, floorAt(at)),
    kind: "revoked",
  }));
  if (job === undefined || before === undefined) return answer;
  if (lease !== undefined) noteLease(at, lease, "revoked", before.owner);
  return { ...answer, token: revocationToken(job, lease, NOBODY) };
}

export function retryJob(at: Moment, id: JobId, again: boolean): ControlAnswer {
  return control(at, id, (job) => {
    const keyTaken = job.uniqueKey !== null && holderOfKey(at, job.name, job.uniqueKey) !== undefined;
    return { controlled: retry(job, again, keyTaken, floorAt(at)), kind: "retried" };
  }).answer;
}

interface Done {
  readonly answer: ControlAnswer;
  readonly before?: JobRecord | undefined;
  readonly job?: JobRecord | undefined;
  readonly lease?: Controlled["lease"];
}

function control(
  at: Moment,
  id: JobId,
  decide: (job: JobRecord) => { readonly controlled: Controlled; readonly kind: JournalKind },
): Done {
  const before = at.state.jobs.get(id);
  if (before === undefined) return { answer: { outcome: "gone" } };
  const { controlled, kind } = decide(before);
  const { job, lease, answer } = controlled;
  if (job === undefined) return { answer };
  putJob(at, job);
  noteJob(at, job, kind, { owner: before.owner, generation: job.generation });
  if (kind === "revoked" && isEnded(job)) noteJob(at, job, "cancelled");
  if (lease !== undefined) putLease(at, lease);
  return { answer, before, job, lease };
}

export function deleteJob(at: Moment, id: JobId): ControlAnswer {
  const job = at.state.jobs.get(id);
  if (job === undefined) return { outcome: "gone" };
  const { state, generation } = job;
  if (!mayDelete(job))
    return { outcome: "conflict", state, why: "it is leased, which only its owner or a revoke ends" };
  forget(at, job);
  return { outcome: "applied", state, generation, pending: false };
}

/** The floor keeps the generation: a caller may derive the same id again, and its line must not begin anew. */
function forget(at: Moment, { jobId: id, generation }: JobRecord): void {
  raiseDeletedGeneration(at, generation);
  dropJob(at, id);
  at.state.steps.delete(id);
  at.state.journal.delete(jobLine(id));
}

/** How many jobs went. A named lease that nobody has held for as long as a completed job is kept goes with them. */
export function prune(
  at: Moment,
  ages: { readonly completedMs: number; readonly failedMs: number },
  limit: number,
): number {
  const { jobs, steps, leaseIdleSinceMs } = at.state;
  const old = [...jobs.values()].filter((job) => {
    const ageMs = job.state === "failed" ? ages.failedMs : ages.completedMs;
    // One that somebody waits for may yet be retried.
    if (!isEnded(job) || isAwaited(at, job.jobId)) return false;
    return job.finishedAtMs !== null && job.finishedAtMs <= at.nowMs - ageMs;
  });
  const some = old.slice(0, limit);
  const pruned = some.slice(0, prunedTogether(some.map(({ jobId }) => steps.get(jobId)?.length ?? 0)));
  for (const job of pruned) forget(at, job);
  pruneBatches(at);

  const idle = [...leaseIdleSinceMs].filter(([, sinceMs]) => sinceMs <= at.nowMs - ages.completedMs);
  for (const [name] of idle.slice(0, limit)) forgetLease(at, name);
  return pruned.length;
}

export function pauseQueue({ state }: Moment, queue: string, paused: boolean): void {
  if (paused) state.paused.add(queue);
  else state.paused.delete(queue);
}

export function raiseFloor({ state, nowMs }: Moment): { readonly epoch: number } {
  const epoch = nextEpoch(state.floor.epoch, nowMs);
  state.floor = { ...state.floor, epoch };
  return { epoch };
}
