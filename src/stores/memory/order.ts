/** Who waits for whom, over maps: follow-ups, dependencies and batches. */

import { BatchSealedError, UnknownJobError } from "../../errors.ts";
import {
  type BatchCounts,
  type Blocker,
  type Departure,
  failedByDependency,
  freed,
  hasEnded,
  type OnFailure,
  onDeparture,
  type Waits,
} from "../../protocol/blocking.ts";
import type { NewJob } from "../../protocol/enqueue.ts";
import type { JobId } from "../../protocol/identity.ts";
import { isEnded, type JobRecord } from "../../protocol/job.ts";
import { noteJob } from "./journal.ts";
import type { MemoryState, Moment } from "./state.ts";

/** Values are replaced, never changed in place. */
export interface OrderState {
  /** By the job that waits. */
  readonly edges: Map<JobId, ReadonlyMap<JobId, OnFailure>>;
  /** The same by the job that is waited for. */
  readonly awaited: Map<JobId, ReadonlySet<JobId>>;
  /** Blocked behind the holder of their unique key, which is not theirs yet (C17). */
  readonly following: Set<JobId>;
  readonly batches: Map<string, BatchCounts>;
  readonly batchOf: Map<JobId, string>;
}

export function emptyOrder(): OrderState {
  return {
    edges: new Map(),
    awaited: new Map(),
    following: new Set(),
    batches: new Map(),
    batchOf: new Map(),
  };
}

export function draftOfOrder(order: OrderState): OrderState {
  return {
    edges: new Map(order.edges),
    awaited: new Map(order.awaited),
    following: new Set(order.following),
    batches: new Map(order.batches),
    batchOf: new Map(order.batchOf),
  };
}

// --- enqueue ----------------------------------------------------------------------------------------------------

/**
 * Before anything is written: jobs must wait for what is there or comes before them, and a sealed batch takes nobody.
 *
 * @throws {UnknownJobError | BatchSealedError}
 */
export function checkOrder({ state }: Moment, jobs: readonly NewJob[]): void {
  const before = new Set<JobId>();
  for (const { jobId, after, batch } of jobs) {
    for (const id of after?.ids ?? []) {
      if (!before.has(id) && !state.jobs.has(id)) throw new UnknownJobError(jobId, id);
    }
    before.add(jobId);
    const sealed = batch != null && state.order.batches.get(batch.name)?.thenId != null;
    if (sealed && !state.jobs.has(jobId)) throw new BatchSealedError(batch.name);
  }
}

/** What a new job waits for, written down. @param answered which job a member of the same call has turned out to be */
export function block(at: Moment, jobId: JobId, job: NewJob, answered: ReadonlyMap<JobId, JobId>): void {
  const { state } = at;
  const { after, batch } = job;
  const doomed: JobId[] = [];
  for (const id of new Set(after?.ids.map((id) => answered.get(id) ?? id))) {
    const other = state.jobs.get(id);
    if (other === undefined || after == null) continue;
    const does = isEnded(other) ? onDeparture(other.state as Departure, after.onFailure) : "wait";
    if (does !== "free") waitFor(at, jobId, id, after.onFailure);
    if (does === "fail") doomed.push(id);
  }
  if (batch?.as === "member") join(at, jobId, batch.name);
  if (batch?.as === "then") {
    state.order.batches.set(batch.name, { ...batchNamed(at, batch.name), thenId: jobId });
    change(at, jobId, (record) => ({ ...record, blockedBy: record.blockedBy + 1 }));
    freeThen(at, batch.name);
  }
  depart(
    at,
    doomed.map((id) => ({ id, how: state.jobs.get(id)?.state as Departure })),
  );
}

/** C17: `jobId` is new, and blocked behind the job that holds its key. */
export function follow(at: Moment, jobId: JobId, holder: JobId): void {
  at.state.order.following.add(jobId);
  waitFor(at, jobId, holder, "run");
}

export function followerOf({ state }: Moment, holder: JobId): JobRecord | undefined {
  const follower = [...(state.order.awaited.get(holder) ?? [])].find((id) => state.order.following.has(id));
  return follower === undefined ? undefined : state.jobs.get(follower);
}

function waitFor(at: Moment, jobId: JobId, id: JobId, onFailure: OnFailure): void {
  const { edges, awaited } = at.state.order;
  edges.set(jobId, new Map([...(edges.get(jobId) ?? []), [id, onFailure]]));
  awaited.set(id, new Set([...(awaited.get(id) ?? []), jobId]));
  change(at, jobId, (record) => ({ ...record, blockedBy: record.blockedBy + 1 }));
}

// --- ends -------------------------------------------------------------------------------------------------------

/** What every write of a job's record goes through: who waits for it hears of its end, and its batch counts it. */
export function onChange(at: Moment, before: JobRecord | undefined, after: JobRecord | undefined): void {
  const [was, is] = [before !== undefined && isEnded(before), after !== undefined && isEnded(after)];
  if (before === undefined || (was && is)) return;
  const { jobId } = before;
  if (after === undefined) {
    if (!was) count(at, jobId, "cancelled", 1);
    depart(at, [{ id: jobId, how: "deleted" }]);
    forgetEdges(at, jobId);
    at.state.order.batchOf.delete(jobId);
  } else if (is) {
    count(at, jobId, after.state, 1);
    forgetEdges(at, jobId);
    depart(at, [{ id: jobId, how: after.state as Departure }]);
  } else if (was) {
    count(at, jobId, before.state, -1);
  }
}

/** One after the other, however long the line of failures is: no recursion. */
function depart(at: Moment, gone: { readonly id: JobId; readonly how: Departure }[]): void {
  const { order, jobs } = at.state;
  for (let next = gone.shift(); next !== undefined; next = gone.shift()) {
    const { id, how } = next;
    for (const waiting of order.awaited.get(id) ?? []) {
      const does = onDeparture(how, order.edges.get(waiting)?.get(id) ?? "run");
      const job = jobs.get(waiting);
      if (does === "wait" || job === undefined) continue;
      if (does === "fail") {
        const failed = failedByDependency(job, at.nowMs);
        jobs.set(waiting, failed);
        noteJob(at, failed, "failed");
        forgetEdges(at, waiting);
        count(at, waiting, "failed", 1);
        gone.push({ id: waiting, how: "failed" });
        continue;
      }
      dropEdge(at, waiting, id);
      change(at, waiting, freed);
      order.following.delete(waiting);
    }
  }
}

function dropEdge({ state: { order } }: Moment, jobId: JobId, id: JobId): void {
  const left = new Map(order.edges.get(jobId));
  left.delete(id);
  if (left.size === 0) order.edges.delete(jobId);
  else order.edges.set(jobId, left);
  const others = new Set(order.awaited.get(id));
  others.delete(jobId);
  if (others.size === 0) order.awaited.delete(id);
  else order.awaited.set(id, others);
}

/** The job waits for nobody any more. */
function forgetEdges(at: Moment, jobId: JobId): void {
  for (const id of at.state.order.edges.get(jobId)?.keys() ?? []) dropEdge(at, jobId, id);
  at.state.order.following.delete(jobId);
}

function change({ state }: Moment, id: JobId, by: (job: JobRecord) => JobRecord): void {
  const job = state.jobs.get(id);
  if (job !== undefined) state.jobs.set(id, by(job));
}

// --- batches ----------------------------------------------------------------------------------------------------

/** Also for a call without a member. */
export function batchNamed({ state }: Moment, name: string): BatchCounts {
  const known = state.order.batches.get(name);
  return known ?? { name, total: 0, completed: 0, failed: 0, cancelled: 0, thenId: null };
}

function join(at: Moment, jobId: JobId, name: string): void {
  const batch = batchNamed(at, name);
  at.state.order.batches.set(name, { ...batch, total: batch.total + 1 });
  at.state.order.batchOf.set(jobId, name);
}

function count(at: Moment, jobId: JobId, end: JobRecord["state"], by: number): void {
  const { batchOf, batches } = at.state.order;
  const batch = batches.get(batchOf.get(jobId) ?? "");
  if (batch === undefined || (end !== "completed" && end !== "failed" && end !== "cancelled")) return;
  batches.set(batch.name, { ...batch, [end]: batch[end] + by });
  freeThen(at, batch.name);
}

/** Once: a freed job is not blocked any more. */
function freeThen(at: Moment, name: string): void {
  const batch = at.state.order.batches.get(name);
  if (batch?.thenId == null || !hasEnded(batch)) return;
  change(at, batch.thenId, (job) => (job.state === "ready" ? freed(job) : job));
}

/** A batch goes when it has ended and nothing of it is kept any more. */
export function pruneBatches({ state }: Moment): void {
  const kept = new Set(state.order.batchOf.values());
  for (const [name, batch] of state.order.batches) {
    const waits = batch.thenId !== null && state.jobs.has(batch.thenId);
    if (hasEnded(batch) && !kept.has(name) && !waits) state.order.batches.delete(name);
  }
}

// --- reading ----------------------------------------------------------------------------------------------------

export function waitsOf(state: MemoryState, id: JobId): Waits | undefined {
  const job = state.jobs.get(id);
  if (job === undefined) return undefined;
  const { edges, batches, batchOf } = state.order;
  const blockers = [...(edges.get(id) ?? [])].map(
    ([jobId, onFailure]): Blocker => ({
      kind: "job",
      jobId,
      state: state.jobs.get(jobId)?.state ?? "gone",
      onFailure,
    }),
  );
  const batch = job.blockedBy > 0 ? [...batches.values()].find(({ thenId }) => thenId === id) : undefined;
  if (batch !== undefined) blockers.push({ kind: "batch", name: batch.name });
  return { blockers: blockers.slice(0, 100), batch: batchOf.get(id) ?? null };
}

export function isAwaited({ state }: Moment, id: JobId): boolean {
  return state.order.awaited.has(id);
}
