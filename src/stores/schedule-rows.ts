/** A schedule as the columns of a row: the same in all SQL stores. */

import type { DueSchedule, Schedule, Stretch, Timing } from "../protocol/schedule.ts";
import type { ScheduleWrite } from "./schedules.ts";

export type ScheduleRow = Readonly<Record<string, unknown>>;

export function scheduleColumns(schedule: ScheduleWrite): Record<string, unknown> {
  const { timing } = schedule;
  return {
    name: schedule.name,
    revision: schedule.revision,
    version: schedule.version,
    cron: "cron" in timing ? timing.cron : null,
    zone: "cron" in timing ? timing.zone : null,
    every_ms: "cron" in timing ? null : timing.everyMs,
    at_most: schedule.atMost,
    next_slot: schedule.nextSlotMs,
    last_slot: schedule.lastSlotMs,
    covered: JSON.stringify(schedule.covered),
    template: JSON.stringify(schedule.template),
  };
}

export function dueFromRow(row: ScheduleRow): DueSchedule {
  return {
    name: row["name"] as string,
    revision: row["revision"] as string,
    timing: timingOf(row),
    atMost: row["at_most"] as number,
    covered: JSON.parse(row["covered"] as string) as Stretch[],
    nextSlotMs: row["next_slot"] as number | null,
    lastSlotMs: row["last_slot"] as number | null,
  };
}

export function scheduleFromRow(row: ScheduleRow): Schedule {
  return {
    ...dueFromRow(row),
    version: row["version"] as number,
    template: JSON.parse(row["template"] as string) as Schedule["template"],
    paused: Boolean(row["paused"]),
    createdAtMs: row["created_at"] as number,
    changedAtMs: row["changed_at"] as number,
  };
}

function timingOf(row: ScheduleRow): Timing {
  return typeof row["cron"] === "string"
    ? { cron: row["cron"], zone: row["zone"] as string }
    : { everyMs: row["every_ms"] as number };
}
