/** What jobs of one `enqueueMany` wait for, where it takes several calls on the store. */

import { UnknownJobError } from "../errors.ts";
import type { EnqueueAnswer, NewJob } from "../protocol/enqueue.ts";
import type { JobId } from "../protocol/identity.ts";
import type { Store } from "../stores/store.ts";

const IDS_PER_CALL = 500;

/**
 * Each call is checked by the store; only this sees all of them before the first is sent.
 *
 * @throws {UnknownJobError} nothing was written
 */
export async function checkPredecessors(
  store: Store,
  jobs: readonly NewJob[],
  timeoutMs: number,
): Promise<void> {
  const before = new Set<JobId>();
  const waiting = new Map<JobId, JobId>();
  for (const { jobId, after } of jobs) {
    for (const id of after?.ids ?? []) if (!before.has(id)) waiting.set(id, jobId);
    before.add(jobId);
  }
  const ids = [...waiting.keys()];
  for (let start = 0; start < ids.length; start += IDS_PER_CALL) {
    const asked = ids.slice(start, start + IDS_PER_CALL);
    const found = await store.get(asked, { timeoutMs });
    const unknown = asked.find((_, i) => found[i] === undefined);
    if (unknown !== undefined) throw new UnknownJobError(waiting.get(unknown) as JobId, unknown);
  }
}

/** A member whose unique key was taken stands for the job that has it, also in the calls after its own. */
export class StandIns {
  readonly #standsFor = new Map<JobId, JobId>();

  note(jobs: readonly NewJob[], answers: readonly EnqueueAnswer[]): void {
    for (const [i, { jobId }] of jobs.entries()) {
      const answered = answers[i]?.jobId;
      if (answered !== undefined && answered !== jobId) this.#standsFor.set(jobId, answered);
    }
  }

  resolve(jobs: readonly NewJob[]): readonly NewJob[] {
    if (this.#standsFor.size === 0) return jobs;
    return jobs.map((job) => {
      if (job.after == null) return job;
      return {
        ...job,
        after: { ...job.after, ids: job.after.ids.map((id) => this.#standsFor.get(id) ?? id) },
      };
    });
  }
}
