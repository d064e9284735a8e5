/** A queue's limit as the columns of a row: the same in all SQL stores. */

import type { QueueLimit } from "../protocol/limit.ts";

export interface LimitColumns {
  readonly concurrency: number | null;
  readonly rate_count: number | null;
  readonly rate_per_ms: number | null;
}

export interface LimitRow extends LimitColumns {
  /** JSON of `Starts`. */
  readonly starts: string;
}

export function limitFromRow({
  concurrency,
  rate_count: count,
  rate_per_ms: perMs,
}: LimitColumns): QueueLimit {
  return { concurrency, rate: count === null || perMs === null ? null : { count, perMs } };
}
