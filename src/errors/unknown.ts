/** Unknown outcomes: no answer came, so it may have happened. */

import type { Generation, JobId, Owner } from "../protocol/identity.ts";
import { LeaseholdError } from "./leasehold-error.ts";

/**
 * No answer came, or one that does not count: the operation may have happened (C11, D5). Never "failed", never "lost".
 */
export class UnknownOutcomeError extends LeaseholdError {
  readonly code = "LH_UNKNOWN_OUTCOME";
  readonly operation: string;

  constructor(
    operation: string,
    cause: unknown,
    {
      who = "the store",
      next = "Repeat it with the same ids and fences, or ask outcome()",
    }: { readonly who?: string; readonly next?: string } = {},
  ) {
    super(`${operation}: ${who} gave no usable answer, so it may or may not have happened.`, {
      next: `${next}; do not take it for a failure.`,
      cause,
    });
    this.operation = operation;
  }
}

/** What is known of a step that was begun and has no end. */
export interface BegunStep {
  readonly jobId: JobId;
  /** The job's run number. */
  readonly run: number;
  readonly step: string;
  /** D4's key, which the step's effect was to carry: `job:<job_id>/<run>/<step>`. */
  readonly key: string;
  /** Who began it. */
  readonly owner: Owner | null;
  readonly generation: Generation;
  readonly attempt: number;
  /** Store time, ms since 1970, for display. */
  readonly begunAtMs: number;
}

/**
 * A step was begun by an earlier attempt, and nobody knows whether it happened: the process died in it, or was told to stop,
 * or no usable answer came. Trying again would meet it again, so a handler that lets this out fails its job for good.
 */
export class StepUnknownError extends LeaseholdError {
  readonly code = "LH_STEP_UNKNOWN";
  readonly begun: BegunStep;

  constructor(begun: BegunStep) {
    const { jobId, run, step, attempt, generation } = begun;
    super(
      `Job ${jobId}, run ${run}: the step ${JSON.stringify(step)} was begun in attempt ${attempt} with generation ${generation} and has no end: it may or may not have happened.`,
      {
        next: "Find out whether it did, say so with leasehold resolve-step, then retry the job; or give the step onUnknown.",
      },
    );
    this.begun = begun;
  }
}

/** A name that stood for one step of this execution already: a later attempt could not tell the two apart. */
export class StepRepeatedError extends LeaseholdError {
  readonly code = "LH_STEP_REPEATED";
  readonly step: string;

  constructor(jobId: JobId, step: string) {
    super(`Job ${jobId}: the step ${JSON.stringify(step)} stands twice in one execution.`, {
      next: "Give each step a name of its own that is the same in every attempt, such as `page 3` in a loop.",
    });
    this.step = step;
  }
}
