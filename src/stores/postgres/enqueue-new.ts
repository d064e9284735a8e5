/** C1 for the many: jobs whose ids were made for this call, without unique keys, that wait for
 * nobody. One statement, and nothing to look up. */

import type { EnqueueAnswer, NewJob } from "../../protocol/enqueue.ts";
import { busyResources } from "./busy-resources.ts";
import { sqlState } from "./failure.ts";
import type { Sql } from "./statements.ts";

export function areNew(jobs: readonly NewJob[]): boolean {
  return jobs.every(
    ({ mayRepeat, unique, after, batch }) => !mayRepeat && unique === null && after == null && batch == null,
  );
}

/** A channel, and what to say there in the same commit. */
export interface Told {
  readonly channel: string;
  readonly payload: string;
}

/** @returns undefined when an id was there after all: nothing was written, and `enqueue` is to be asked */
export async function enqueueNew(
  sql: Sql,
  jobs: readonly NewJob[],
  told: Told | undefined,
): Promise<EnqueueAnswer[] | undefined> {
  const terms = new Map<string, number>();
  const waiting = await busyResources(sql, jobs);
  const which = jobs.map((job) => {
    const text = termsOf(job, waiting.has(job));
    const known = terms.get(text);
    if (known !== undefined) return known;
    terms.set(text, terms.size);
    return terms.size - 1;
  });
  const stated = [...terms].map(([text, n]) => `{"n":${n},${text.slice(1)}`);
  const parameters = [
    `[${stated.join(",")}]`,
    JSON.stringify(jobs.map(({ jobId }) => jobId)),
    JSON.stringify(jobs.map(({ input }) => input)),
    `[${which.join(",")}]`,
    told?.channel ?? null,
    told?.payload ?? null,
  ];
  try {
    const [row] = await sql.rows<{ added: number }>("enqueue new", parameters);
    if (Number(row?.added) !== jobs.length) throw new Error("a queue of theirs went away");
  } catch (error) {
    if (sqlState(error) === "23505") return undefined;
    throw error;
  }
  return jobs.map(({ jobId }) => ({ outcome: "enqueued", jobId }));
}

/** What jobs of one kind have in common, as JSON. */
function termsOf(job: NewJob, waits: boolean): string {
  const { due } = job;
  return JSON.stringify({
    name: job.name,
    queue: job.queue,
    priority: job.priority,
    ...("runAtMs" in due ? { run_at: due.runAtMs } : { delay_ms: due.delayMs }),
    lease_ms: job.leaseMs,
    max_attempts: job.maxAttempts,
    max_run_ms: job.maxRunMs,
    backoff: job.backoff === null ? null : JSON.stringify(job.backoff),
    resource: job.resource,
    ...(waits ? { waits } : {}),
  });
}
