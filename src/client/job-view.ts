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

function value(text: string | null): unknown {
  return text === null ? undefined : JSON.parse(text);
}
