import { InvalidArgumentError } from "../errors.ts";
import { LAST_MOMENT_MS } from "../protocol/job.ts";
import type { Timing } from "../protocol/schedule.ts";
import type { Calendar } from "../protocol/slots.ts";
import { cronCalendar } from "./cron.ts";

export const MIN_EVERY_MS = 1_000;
/** A year. */
export const MAX_EVERY_MS: number = 366 * 86_400_000;

/**
 * The first slot after a moment, ms since 1970; null when there is none before the year 10000. This process's own time
 * zone never matters.
 *
 * @throws {InvalidArgumentError} with what was received, for a pattern or zone that is none
 */
export function nextSlot(pattern: string, zone: string, afterMs: number): number | null {
  return calendarOf({ cron: pattern, zone })(afterMs);
}

/**
 * Intervals are counted from 1970 and not from when they were made known: so a schedule that is made anew goes on with the
 * same slots, and no slot is two.
 *
 * @throws {InvalidArgumentError} for a timing that is none
 */
export function calendarOf(timing: Timing): Calendar {
  const calendar = "cron" in timing ? cronCalendar(timing.cron, timing.zone) : everyCalendar(timing.everyMs);
  return (afterMs) => {
    const slot = calendar(afterMs);
    return slot === null || slot > LAST_MOMENT_MS ? null : slot;
  };
}

function everyCalendar(everyMs: number): Calendar {
  if (!Number.isInteger(everyMs) || everyMs < MIN_EVERY_MS || everyMs > MAX_EVERY_MS) {
    throw new InvalidArgumentError(
      "everyMs",
      everyMs,
      `whole milliseconds from ${MIN_EVERY_MS} to ${MAX_EVERY_MS}`,
    );
  }
  return (afterMs) => (Math.floor(afterMs / everyMs) + 1) * everyMs;
}
