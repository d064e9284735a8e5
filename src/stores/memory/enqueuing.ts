/** C1 and C17. */

import {
  type EnqueueAnswer,
  type NewJob,
  newRecord,
  onKeyTaken,
  replaceable,
  replacedBy,
} from "../../protocol/enqueue.ts";
import type { JobId } from "../../protocol/identity.ts";
import { isEnded, type JobRecord } from "../../protocol/job.ts";
import { noteJob } from "./journal.ts";
import { block, checkOrder, follow, followerOf } from "./order.ts";
import { type Moment, putJob } from "./state.ts";

export function enqueue(at: Moment, jobs: readonly NewJob[]): EnqueueAnswer[] {
  checkOrder(at, jobs);
  // A job that waits for a member of the same call waits for whatever that turned out to be.
  const answered = new Map<JobId, JobId>();
  return jobs.map((job) => {
    const answer = enqueueOne(at, job);
    answered.set(job.jobId, answer.jobId);
    if (answer.outcome === "enqueued") block(at, answer.jobId, job, answered);
    return answer;
  });
}

function enqueueOne(at: Moment, job: NewJob): EnqueueAnswer {
  const known = at.state.jobs.get(job.jobId);
  if (known !== undefined) {
    return { outcome: "repeated", jobId: job.jobId, state: known.state, endReason: known.endReason };
  }
  const holder = job.unique === null ? undefined : holderOfKey(at, job.name, job.unique.key);
  if (job.unique === null || holder === undefined) return insert(at, job);

  const { jobId, state } = holder;
  switch (onKeyTaken(holder, job.unique.onConflict)) {
    case "keep":
      return { outcome: "kept", jobId, state };
    case "conflict":
      return { outcome: "conflict", jobId, state };
    case "change":
      return changeInPlace(at, holder, job);
    case "end": {
      const ended = replacedBy(holder, at.nowMs);
      putJob(at, ended);
      noteJob(at, ended, "replaced");
      // One that was blocked behind it has the key now, and is changed in its place.
      const next = holderOfKey(at, job.name, job.unique.key);
      return next === undefined ? { ...insert(at, job), ended: jobId } : changeInPlace(at, next, job);
    }
    case "follow": {
      const behind = followerOf(at, jobId);
      if (behind !== undefined) return changeInPlace(at, behind, job);
      const answer = insert(at, job);
      follow(at, job.jobId, jobId);
      return { ...answer, behind: jobId };
    }
  }
}

/** The one live job that holds a unique key, whatever its lease. */
export function holderOfKey({ state }: Moment, name: string, uniqueKey: string): JobRecord | undefined {
  for (const job of state.jobs.values()) {
    if (job.uniqueKey === uniqueKey && job.name === name && !isEnded(job)) {
      if (!state.order.following.has(job.jobId)) return job;
    }
  }
  return undefined;
}

function changeInPlace(at: Moment, job: JobRecord, by: NewJob): EnqueueAnswer {
  const changed = { ...job, ...replaceable(by, at.nowMs) };
  putJob(at, changed);
  noteJob(at, changed, "replaced");
  return { outcome: "replaced", jobId: job.jobId };
}

function insert(at: Moment, job: NewJob): EnqueueAnswer & { readonly outcome: "enqueued" } {
  const record = newRecord(job, at.state.nextSeq, at.nowMs);
  at.state.nextSeq += 1;
  putJob(at, record);
  noteJob(at, record, "enqueued");
  return { outcome: "enqueued", jobId: job.jobId };
}
