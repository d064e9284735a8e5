/** C1 and C17. */

import {
  type EnqueueAnswer,
  type NewJob,
  newRecord,
  onKeyTaken,
  replaceable,
  replacedBy,
} from "../../protocol/enqueue.ts";
import { isEnded, type JobRecord } from "../../protocol/job.ts";
import { noteJob } from "./journal.ts";
import { type Moment, putJob } from "./state.ts";

export function enqueue(at: Moment, job: NewJob): EnqueueAnswer {
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
    case "change": {
      const changed = { ...holder, ...replaceable(job, at.nowMs) };
      putJob(at, changed);
      noteJob(at, changed, "replaced");
      return { outcome: "replaced", jobId };
    }
    case "end": {
      const ended = replacedBy(holder, at.nowMs);
      putJob(at, ended);
      noteJob(at, ended, "replaced");
      return { ...insert(at, job), ended: jobId };
    }
  }
}

/** The one live job that holds a unique key, whatever its lease. */
export function holderOfKey({ state }: Moment, name: string, uniqueKey: string): JobRecord | undefined {
  for (const job of state.jobs.values()) {
    if (job.uniqueKey === uniqueKey && job.name === name && !isEnded(job)) return job;
  }
  return undefined;
}

function insert(at: Moment, job: NewJob): EnqueueAnswer & { readonly outcome: "enqueued" } {
  const record = newRecord(job, at.state.nextSeq, at.nowMs);
  at.state.nextSeq += 1;
  putJob(at, record);
  noteJob(at, record, "enqueued");
  return { outcome: "enqueued", jobId: job.jobId };
}
