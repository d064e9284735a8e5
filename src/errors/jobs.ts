/** What a handler throws to end its job, and what whoever waits for a job is told. */

import type { JobId } from "../protocol/identity.ts";
import type { JobState } from "../protocol/job.ts";
import { LeaseholdError } from "./leasehold-error.ts";

/** Throw this from a handler to fail the job for good: no further attempt is made. Its message stays as it is given. */
export class FinalError extends LeaseholdError {
  readonly code = "LH_FINAL";

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, { next: "", ...options });
  }
}

/** The awaited job did not end in time; it goes on. */
export class WaitTimeoutError extends LeaseholdError {
  readonly code = "LH_WAIT_TIMEOUT";

  constructor(what: string, timeoutMs: number) {
    super(`${what} did not end within ${timeoutMs} ms.`, {
      next: "It goes on; wait again, or look with get().",
    });
  }
}

/** The awaited job ended otherwise than completed; `cause` is the last attempt's error, as far as it was stored. */
export class JobNotCompletedError extends LeaseholdError {
  readonly code = "LH_JOB_NOT_COMPLETED";
  readonly state: JobState;

  constructor(jobId: JobId, state: JobState, why: string, cause?: Error) {
    const last = cause === undefined ? "" : `: ${cause.message.replace(/[.]$/, "")}`;
    super(`Job ${jobId} ended as ${state}${why === "" ? "" : ` (${why})`}${last}.`, {
      next: "Its journal tells the story: leasehold show ID.",
      cause,
    });
    this.state = state;
  }
}
