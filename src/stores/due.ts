import type { NewJob } from "../protocol/enqueue.ts";
import type { Due } from "./sleepers.ts";

/** With more queues in one call everybody is woken. */
const MOST_QUEUES = 32;

/** What becomes due with new jobs, as far as it is known without asking the store. */
export function dueOf(jobs: readonly NewJob[]): Due {
  const due = new Map<string, number>();
  for (const job of jobs) {
    const isPlain = "delayMs" in job.due && job.due.delayMs <= 0 && job.after == null && job.batch == null;
    // Who sleeps asks when the next delayed job is due; what a replaced one held may free others.
    if (!isPlain || job.unique?.onConflict === "replace") return "anything";
    due.set(job.queue, (due.get(job.queue) ?? 0) + 1);
  }
  return due.size > MOST_QUEUES ? "anything" : due;
}
