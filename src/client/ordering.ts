/** What an enqueued job waits for, as callers say it. */

import { InvalidArgumentError } from "../errors.ts";
import { type After, ON_FAILURE, type OnFailure } from "../protocol/blocking.ts";
import type { NewJob } from "../protocol/enqueue.ts";
import { type JobId, jobId } from "../protocol/identity.ts";
import type { JobDefinition } from "./define-job.ts";
import type { EnqueueEntry, JobRef } from "./enqueued.ts";
import { checkKnown } from "./known-options.ts";
import { checkName } from "./names.ts";

/** Of one job; each of its predecessors is looked up in the call that enqueues it. */
export const MAX_AFTER = 10_000;

/** A batch by its name; with `then`, this call is the last that adds to it. */
export type BatchOption<Then extends JobDefinition = JobDefinition> =
  | string
  | {
      readonly name: string;
      /** Enqueued with the last members, and blocked until all of them have ended, however they do. */
      readonly then?: EnqueueEntry<Then>;
    };

interface Ordering {
  readonly after?: JobRef | readonly JobRef[];
  readonly onFailure?: OnFailure;
}

/** @throws {InvalidArgumentError} */
export function afterOf({ after, onFailure }: Ordering, unique: NewJob["unique"]): After | null {
  if (after === undefined) {
    if (onFailure === undefined) return null;
    throw new InvalidArgumentError("onFailure", onFailure, "nothing without `after`");
  }
  // What is to happen then is never guessed: of the three, each would be wrong for somebody.
  if (onFailure === undefined || !ON_FAILURE.includes(onFailure)) {
    throw new InvalidArgumentError("onFailure", onFailure, `"fail", "run" or "wait" together with \`after\``);
  }
  if (unique?.onConflict === "replace" || unique?.onConflict === "followUp") {
    throw new InvalidArgumentError(
      "after",
      after,
      `nothing with \`unique.onConflict: "${unique.onConflict}"\`, which says itself behind whom the job comes`,
    );
  }
  const refs: readonly JobRef[] = isList(after) ? after : [after];
  if (refs.length < 1 || refs.length > MAX_AFTER) {
    throw new InvalidArgumentError("after", after, `1 to ${MAX_AFTER} jobs`);
  }
  return { ids: [...new Set(refs.map(idOf))], onFailure };
}

function isList(after: JobRef | readonly JobRef[]): after is readonly JobRef[] {
  return Array.isArray(after);
}

function idOf(ref: JobRef): JobId {
  if (typeof ref === "object" && ref !== null) return ref.jobId;
  return jobId(ref as string);
}

const BATCH_MEMBERS = new Set(["name", "then"]);

/** @throws {InvalidArgumentError} */
export function batchOf(given: BatchOption | undefined): { name: string; then?: EnqueueEntry } | undefined {
  if (given === undefined) return undefined;
  const batch = typeof given === "string" ? { name: given } : given;
  checkKnown("batch", batch, BATCH_MEMBERS);
  checkName("batch", batch.name);
  return batch;
}

/** @throws {InvalidArgumentError} for a `then` that might turn out to be another job, or wait for more than the batch */
export function thenOf(job: NewJob, name: string): NewJob {
  if (job.unique !== null) {
    throw new InvalidArgumentError(
      "batch.then",
      job.name,
      "a job without a unique key: give each batch its own",
    );
  }
  if (job.after != null) throw new InvalidArgumentError("batch.then.after", job.after.ids, "nothing");
  return { ...job, batch: { name, as: "then" } };
}
