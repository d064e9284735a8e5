/** Pages and counts. */

import { isDue } from "../../protocol/claim.ts";
import { isExpired, type JobRecord } from "../../protocol/job.ts";
import type { ListFilter, Page, QueueCounts } from "../store.ts";
import type { MemoryState } from "./state.ts";

export function pageOf(
  state: MemoryState,
  filter: ListFilter,
  { limit, before }: { readonly limit: number; readonly before?: number },
): Page {
  const matching = [...state.jobs.values()]
    .filter((job) => matches(job, filter) && (before === undefined || job.seq < before))
    .sort((a, b) => b.seq - a.seq);
  const jobs = matching.slice(0, limit);
  return { jobs, before: matching.length > jobs.length ? jobs.at(-1)?.seq : undefined };
}

function matches(job: JobRecord, filter: ListFilter): boolean {
  return (
    (filter.queue === undefined || filter.queue === job.queue) &&
    (filter.name === undefined || filter.name === job.name) &&
    (filter.states === undefined || filter.states.includes(job.state)) &&
    (filter.uniqueKey === undefined || filter.uniqueKey === job.uniqueKey) &&
    (filter.resource === undefined || filter.resource === job.resource)
  );
}

/** Every queue that has a job, is paused or limited, by name. */
export function countsOf(state: MemoryState, nowMs: number): QueueCounts[] {
  const byQueue = new Map<string, JobRecord[]>(
    [...state.paused, ...state.limits.keys()].map((queue) => [queue, []]),
  );
  for (const job of state.jobs.values()) {
    const jobs = byQueue.get(job.queue);
    if (jobs === undefined) byQueue.set(job.queue, [job]);
    else jobs.push(job);
  }
  return [...byQueue]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([queue, jobs]) => {
      const count = (test: (job: JobRecord) => boolean): number => jobs.filter(test).length;
      return {
        queue,
        paused: state.paused.has(queue),
        limit: state.limits.get(queue)?.limit ?? null,
        ready: count((job) => job.state === "ready"),
        delayed: count((job) => job.state === "ready" && job.blockedBy === 0 && !isDue(job, nowMs)),
        blocked: count((job) => job.blockedBy > 0),
        leased: count((job) => job.state === "leased"),
        expired: count((job) => job.state === "leased" && isExpired(job, nowMs)),
        completed: count((job) => job.state === "completed"),
        failed: count((job) => job.state === "failed"),
        cancelled: count((job) => job.state === "cancelled"),
      };
    });
}
