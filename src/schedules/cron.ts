/**
 * Slots of a cron pattern, by croner. A pattern without `*` and `?` in its seconds, minutes and hours names times of day,
 * as in `0 9 * * *` and `30 2,14 * * *`: each is met once on every day that has one, at the first of two and right after
 * the gap in which it does not exist. All others name intervals, and go on in real time. That is Vixie cron's rule; croner
 * follows it where there is a single time, and takes a list or range for an interval, so we ask it for each time alone.
 */

import { Cron, CronPattern } from "croner";
import { InvalidArgumentError } from "../errors.ts";
import type { Calendar } from "../protocol/slots.ts";

/** With more times of day than this a pattern is an interval: each time is a calendar of its own. */
export const MOST_TIMES_OF_DAY = 48;

const KNOWN_CALENDARS = 1_000;
const known = new Map<string, Calendar>();

/** @throws {InvalidArgumentError} with what was received, for a pattern or zone that is none */
export function cronCalendar(pattern: string, zone: string): Calendar {
  const key = `${zone}\n${pattern}`;
  let calendar = known.get(key);
  if (calendar === undefined) {
    calendar = newCalendar(pattern, zone);
    if (known.size === KNOWN_CALENDARS) known.clear();
    known.set(key, calendar);
  }
  return calendar;
}

/** Whether each of its times is met once a day, whatever the clocks do; false: it goes on in real time. */
export function namesTimesOfDay(pattern: string): boolean {
  return (
    timesOfDay(pattern).length > 0 ||
    /^@(yearly|annually|monthly|weekly|daily|midnight)$/i.test(pattern.trim())
  );
}

function newCalendar(pattern: string, zone: string): Calendar {
  checkZone(zone);
  const times = timesOfDay(checkedPattern(pattern));
  const crons = (times.length === 0 ? [pattern.trim()] : times).map(
    (one) => new Cron(one, { timezone: zone, paused: true }),
  );
  return (afterMs) => {
    let first: number | null = null;
    for (const cron of crons) {
      const slot = cron.nextRun(new Date(afterMs))?.getTime() ?? null;
      if (slot !== null && (first === null || slot < first)) first = slot;
    }
    return first;
  };
}

/** A pattern for each time of day that `pattern` names; none when it names intervals. */
function timesOfDay(pattern: string): string[] {
  const fields = pattern.trim().split(/\s+/);
  if (fields.length < 5) return [];
  const [seconds, minutes, hours, ...days] = fields.length === 5 ? ["0", ...fields] : fields;
  if (/[*?]/.test(`${seconds}${minutes}${hours}`)) return [];
  const { second, minute, hour } = new CronPattern(pattern.trim());
  const [s, m, h] = [set(second), set(minute), set(hour)];
  if (s.length * m.length * h.length > MOST_TIMES_OF_DAY) return [];
  return h.flatMap((hour) =>
    m.flatMap((minute) => s.map((second) => [second, minute, hour, ...days].join(" "))),
  );
}

function set(flags: readonly number[]): number[] {
  return flags.flatMap((flag, value) => (flag === 1 ? [value] : []));
}

/** croner also takes the text of a date, and an event of its own; a schedule is neither. */
function checkedPattern(pattern: string): string {
  const expected =
    "a cron pattern of 5 to 7 fields, or one of @hourly, @daily, @weekly, @monthly and @yearly";
  if (typeof pattern !== "string" || pattern.length > 255)
    throw new InvalidArgumentError("cron", pattern, expected);
  const isShaped = /^\s*(@\w+|\S+(\s+\S+){4,6})\s*$/.test(pattern);
  if (!isShaped) throw new InvalidArgumentError("cron", pattern, expected);
  try {
    new CronPattern(pattern.trim());
  } catch (error) {
    throw new InvalidArgumentError("cron", pattern, `${expected} (${messageOf(error)})`);
  }
  return pattern;
}

/** Offsets are refused: some versions of Node take them for zones, and some do not. */
function checkZone(zone: string): void {
  const expected = "a time zone's name, such as Europe/Berlin or UTC";
  if (typeof zone !== "string" || !/^[A-Za-z]/.test(zone))
    throw new InvalidArgumentError("zone", zone, expected);
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
  } catch {
    throw new InvalidArgumentError("zone", zone, expected);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^Cron\w+: /, "").replace(/\.$/, "") : String(error);
}
