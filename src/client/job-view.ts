import type { JobRecord } from "../protocol/job.ts";

/** A job as readers see it: the store's record, with its texts parsed. Times are store time, ms since 1970, for display. */
export interface JobView extends Omit<JobRecord, "input" | "result" | "error" | "progress"> {
  readonly input: unknown;
  /** What the completed job returned; undefined when it returned nothing, or has not completed. */
  readonly result: unknown;
  /** The last failed attempt's; undefined when there was none. */
  readonly error: StoredError | undefined;
  readonly progress: unknown;
}

/** An error as it is kept: at most 16 KiB of JSON. */
export interface StoredError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: StoredError;
}

export function jobView(record: JobRecord): JobView {
  return {
    ...record,
    input: JSON.parse(record.input),
    result: value(record.result),
    error: value(record.error) as StoredError | undefined,
    progress: value(record.progress),
  };
}

/** An `Error` again, for whoever catches or logs it. */
export function asError(stored: StoredError | undefined): Error | undefined {
  if (stored === undefined) return undefined;
  const cause = asError(stored.cause);
  const error = new Error(stored.message, cause === undefined ? {} : { cause });
  error.name = stored.name;
  if (stored.stack !== undefined) error.stack = stored.stack;
  return error;
}

function value(text: string | null): unknown {
  return text === null ? undefined : JSON.parse(text);
}
