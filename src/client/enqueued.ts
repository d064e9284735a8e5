import type { EnqueueAnswer } from "../protocol/enqueue.ts";
import type { Transaction } from "../stores/store.ts";
import type { JobDefinition } from "./define-job.ts";
import type { JobOptions } from "./new-job.ts";

export interface EnqueueOptions extends JobOptions {
  /** The caller's open transaction on the same store: the job is there when it commits. */
  readonly tx?: Transaction;
}

declare const result: unique symbol;

/** What became of an enqueued job; it knows its result's type, for `result`. */
export type Enqueued<Result = unknown> = EnqueueAnswer & { readonly [result]?: Result };

type InputOf<Job> = Job extends JobDefinition<infer Input, unknown> ? Input : never;
type InputArgument<Input> = undefined extends Input ? { readonly input?: Input } : { readonly input: Input };

/** One member of `enqueueMany`. */
export type EnqueueEntry<Job extends JobDefinition = JobDefinition> = JobOptions & {
  readonly job: Job;
} & InputArgument<InputOf<Job>>;

/** A job's id, or the answer that named it. */
export type JobRef<Result = unknown> = string | Enqueued<Result>;

/** An answer for one job, or a list for several. */
export type Each<Refs, Answer> = Refs extends readonly unknown[] ? Answer[] : Answer;
