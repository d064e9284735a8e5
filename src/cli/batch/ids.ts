/**
 * Job ids that a batch derives instead of drawing, so that the same batch started again means the same jobs: the store
 * answers each repeated enqueue with the job that is already there (C1).
 */

import { v5 } from "uuid";
import type { JobId } from "../../protocol/identity.ts";

/** Leasehold's own UUIDv5 name space. Changing it would make every unfinished batch begin anew. */
const NAMESPACE = "6f1d3c52-8f0e-5a53-9d0c-3f0b1c6d2e41";

/**
 * Gives each line its id: from the batch's name, `--job` when given (the same inputs for another job are other jobs),
 * the line's text, and how many equal lines came before it. Lines may so be appended, removed or moved between two runs
 * of a batch: what is equal stays the same job.
 */
export function lineIds(batch: string, jobName: string | undefined): (text: string) => JobId {
  const seen = new Map<string, number>();
  return (text) => {
    const first = v5(JSON.stringify([batch, jobName ?? null, text]), NAMESPACE);
    const ordinal = seen.get(first) ?? 0;
    seen.set(first, ordinal + 1);
    return v5(JSON.stringify([batch, jobName ?? null, text, ordinal]), NAMESPACE) as JobId;
  };
}
