/**
 * What a store keeps of schedules. It knows no calendar: which slots are due is decided by whoever looks, from the store's
 * time (T1), and written only if the schedule is still as it was looked at. So whoever is late changes nothing.
 */

import type { EnqueueAnswer } from "../protocol/enqueue.ts";
import type { DueSchedule, Firing, Schedule } from "../protocol/schedule.ts";
import type { CallOptions } from "./store.ts";

/** The store's clock before which a schedule was last written by more than this has been set back, ms. */
export const SET_BACK_MS = 60_000;

export interface DueSchedules {
  /** Store time at the look. */
  readonly nowMs: number;
  /** Those whose next slot has come, earliest first; and those that were written by a clock that has been set back since. */
  readonly due: readonly DueSchedule[];
  /** Ms until the next slot of any other; undefined when there is none. */
  readonly nextDueInMs: number | undefined;
}

export type FiringAnswer =
  /** The slots are enqueued, an answer for each, and the next one is noted: in one transaction. */
  | { readonly outcome: "applied"; readonly jobs: readonly EnqueueAnswer[] }
  /** Nothing was written: somebody else was faster, it is paused, changed or gone, or the slot lies ahead after all. */
  | { readonly outcome: "stale" };

/** A schedule as it is to be; the store adds its own times. */
export type ScheduleWrite = Omit<Schedule, "createdAtMs" | "changedAtMs">;

export interface ScheduleStore {
  /** One look by an index, whatever the number of schedules. */
  due(limit: number, options: CallOptions): Promise<DueSchedules>;

  /** Each by itself: applied or stale, whatever becomes of the others. */
  fire(firings: readonly Firing[], options: CallOptions): Promise<readonly FiringAnswer[]>;

  /**
   * Makes or replaces a schedule, if it is still as `found`: absent (undefined), or of that revision with that next slot.
   * False when it is not, and nothing was written.
   */
  put(
    schedule: ScheduleWrite,
    found: Pick<Schedule, "revision" | "nextSlotMs"> | undefined,
    options: CallOptions,
  ): Promise<boolean>;

  /** False when there is none. Jobs that it has enqueued stay. */
  remove(name: string, options: CallOptions): Promise<boolean>;

  /** With the store's time at the look. */
  get(
    name: string,
    options: CallOptions,
  ): Promise<{ readonly nowMs: number; readonly schedule: Schedule | undefined }>;

  /** In the order of their names, those after `after`. */
  list(
    page: { readonly limit: number; readonly after?: string },
    options: CallOptions,
  ): Promise<readonly Schedule[]>;
}
