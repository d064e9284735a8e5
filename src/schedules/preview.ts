/** What a schedule will do, for people: local time, UTC, and what a change of the clocks does to a slot. */

import type { Timing } from "../protocol/schedule.ts";
import { namesTimesOfDay } from "./cron.ts";
import { calendarOf } from "./next-slot.ts";

export interface PreviewedSlot {
  readonly slotMs: number;
  /** In the schedule's zone (UTC for `everyMs`), with its offset: `2026-03-29 03:00:00 +02:00`. */
  readonly local: string;
  /** ISO 8601. */
  readonly utc: string;
  /** What a change of the clocks does here; undefined where it does nothing. */
  readonly edge: string | undefined;
}

/** Clocks are changed by less than this, and not twice within it, ms. A zone that leaves out a day is the exception. */
const NEAR_MS = 3 * 3_600_000;

/** The next slots after a moment, at most `count`. */
export function previewSlots(timing: Timing, afterMs: number, count: number): readonly PreviewedSlot[] {
  const calendar = calendarOf(timing);
  const zone = "cron" in timing ? timing.zone : "UTC";
  const namesTimes = "cron" in timing && namesTimesOfDay(timing.cron);
  const format = wallFormat(zone);
  const previewed: PreviewedSlot[] = [];
  let beforeMs = afterMs;
  for (let slot = calendar(afterMs); slot !== null && previewed.length < count; slot = calendar(slot)) {
    const offsetMs = offsetAt(format, slot);
    previewed.push({
      slotMs: slot,
      local: `${wallText(slot + offsetMs)} ${offsetText(offsetMs)}`,
      utc: new Date(slot).toISOString().replace(".000Z", "Z"),
      edge: edgeAt(format, slot, beforeMs, namesTimes),
    });
    beforeMs = slot;
  }
  return previewed;
}

function edgeAt(
  format: Intl.DateTimeFormat,
  slotMs: number,
  beforeMs: number,
  namesTimes: boolean,
): string | undefined {
  const at = (ms: number): number => offsetAt(format, ms);
  const offsetMs = at(slotMs);
  const marks: string[] = [];
  const changedByMs = offsetMs - at(beforeMs);
  if (namesTimes && at(slotMs - 1_000) < offsetMs) marks.push("first moment after the gap");
  else if (changedByMs > 0) marks.push(`clocks ${minutes(changedByMs)} forward`);
  else if (changedByMs < 0) marks.push(`clocks ${minutes(-changedByMs)} back`);
  const fallsBackByMs = offsetMs - at(slotMs + NEAR_MS);
  const fellBackByMs = at(slotMs - NEAR_MS) - offsetMs;
  if (fallsBackByMs > 0 && at(slotMs + fallsBackByMs) < offsetMs) marks.push("first of two");
  if (fellBackByMs > 0 && at(slotMs - fellBackByMs) > offsetMs) marks.push("second of two");
  return marks.length === 0 ? undefined : marks.join(", ");
}

function wallFormat(zone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
}

/** How far the zone's clocks are ahead of UTC. */
function offsetAt(format: Intl.DateTimeFormat, ms: number): number {
  const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day, hour, minute, second } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1_000) * 1_000;
}

function wallText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

function offsetText(offsetMs: number): string {
  const total = Math.abs(offsetMs) / 60_000;
  const two = (value: number): string => String(Math.trunc(value)).padStart(2, "0");
  return `${offsetMs < 0 ? "-" : "+"}${two(total / 60)}:${two(total % 60)}`;
}

function minutes(ms: number): string {
  return ms % 3_600_000 === 0 ? `${ms / 3_600_000} h` : `${ms / 60_000} min`;
}
