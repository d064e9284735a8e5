import { InvalidArgumentError } from "../errors.ts";
import type { QueueLimit, RateLimit } from "../protocol/limit.ts";
import { checkKnown } from "./known-options.ts";

/** How many of a queue's jobs run at once, and begin within a length of time, over all workers. */
export interface QueueLimitOptions {
  /** From 1 to 10,000; none by default. */
  readonly concurrency?: number | null;
  /** At most `count` jobs begin in any `perMs` by the store's clock; none by default. Retries count as well. */
  readonly rate?: RateLimit | null;
}

/** A claim looks at every slot that its queue has. */
const MOST_SLOTS = 10_000;
const LONGEST_RATE_MS = 366 * 86_400_000;
const MOST_STARTS = 1_000_000_000;

/** @throws {InvalidArgumentError} naming what cannot be used */
export function queueLimit(options: QueueLimitOptions | null): QueueLimit | null {
  if (options === null) return null;
  checkKnown("limit", options, new Set(["concurrency", "rate"]));
  const { concurrency = null, rate = null } = options;
  if (concurrency !== null) checkWhole("limit.concurrency", concurrency, MOST_SLOTS);
  if (rate !== null) {
    checkKnown("limit.rate", rate, new Set(["count", "perMs"]));
    checkWhole("limit.rate.count", rate.count, MOST_STARTS);
    checkWhole("limit.rate.perMs", rate.perMs, LONGEST_RATE_MS);
  }
  if (concurrency === null && rate === null) {
    throw new InvalidArgumentError(
      "limit",
      options,
      "a concurrency, a rate or both; null takes a limit away",
    );
  }
  return { concurrency, rate: rate === null ? null : { count: rate.count, perMs: rate.perMs } };
}

function checkWhole(argument: string, value: number, most: number): void {
  if (!Number.isInteger(value) || value < 1 || value > most) {
    throw new InvalidArgumentError(argument, value, `a whole number from 1 to ${most}`);
  }
}
