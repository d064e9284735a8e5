import type { NewJob } from "../protocol/enqueue.ts";

type Wanting = Pick<NewJob, "resource" | "queue" | "priority">;

export interface InLine<Job> {
  /** The first of each resource in each queue: these may stand in the line, unless somebody is there before them. */
  readonly leaders: readonly Job[];
  /** All others that share it: they wait from the start. */
  readonly followers: readonly Job[];
}

/**
 * Of the jobs of one resource only one can run, so at most one of them is to stand in the line of a queue: claims would
 * have to pass the others one by one, and other jobs would wait behind them. The order stays the same (C15): the first by
 * priority, then as given; whoever gives the resource up lets the first of those that wait into the line.
 *
 * @param jobs due at once, in the order of their arrival; those without a resource are in neither list
 */
export function inLine<Job extends Wanting>(jobs: readonly Job[]): InLine<Job> {
  const first = new Map<string, Job>();
  const followers: Job[] = [];
  for (const job of jobs) {
    if (job.resource === null) continue;
    const line = JSON.stringify([job.resource, job.queue]);
    const before = first.get(line);
    if (before !== undefined && before.priority <= job.priority) {
      followers.push(job);
      continue;
    }
    if (before !== undefined) followers.push(before);
    first.set(line, job);
  }
  return { leaders: [...first.values()], followers };
}
