/**
 * A calendar that shares nothing with the one under test: it walks through a stretch of time step by step, asks
 * `Intl.DateTimeFormat` what the clocks on the wall show, and knows cron's fields from here alone.
 */

interface Walked {
  readonly ms: number;
  /** `2026-03-29` and `02:30:00`. */
  readonly date: string;
  readonly time: string;
  readonly weekday: number;
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const LOWEST = [0, 0, 0, 1, 1, 0];
const HIGHEST = [59, 59, 23, 31, 12, 6];

/** Every slot after `fromMs` and up to `toMs`, brute force. @param stepMs how fine: a minute, or a second */
export function slotsByWalking(
  pattern: string,
  zone: string,
  fromMs: number,
  toMs: number,
  stepMs: 60_000 | 1_000 = 60_000,
): number[] {
  const fields = pattern.split(" ");
  const [second, minute, hour, day, month, weekday] = fields.length === 5 ? ["0", ...fields] : fields;
  const sets = [second, minute, hour, day, month, weekday].map((text, n) =>
    valuesOf(text as string, LOWEST[n] as number, HIGHEST[n] as number),
  ) as [Set<number>, Set<number>, Set<number>, Set<number>, Set<number>, Set<number>];
  const isDay = ({ date, weekday: today }: Walked): boolean => {
    const [, months, days] = date.split("-").map(Number) as [number, number, number];
    const byDay = sets[3].has(days);
    const byWeekday = sets[5].has(today);
    const either = day !== "*" && weekday !== "*";
    return sets[4].has(months) && (either ? byDay || byWeekday : byDay && byWeekday);
  };
  // A day to both sides: times of day are looked for on whole local days.
  const walked = walk(zone, fromMs - 86_400_000, toMs + 86_400_000, stepMs);
  const found = `${second}${minute}${hour}`.includes("*")
    ? walked.filter((one) => isDay(one) && hasTime(one, sets)).map(({ ms }) => ms)
    : onceADay(walked.filter(isDay), sets);
  return [...new Set(found)].filter((ms) => ms > fromMs && ms <= toMs).sort((one, other) => one - other);
}

function hasTime({ time }: Walked, [seconds, minutes, hours]: readonly Set<number>[]): boolean {
  const [hour, minute, second] = time.split(":").map(Number) as [number, number, number];
  return seconds?.has(second) === true && minutes?.has(minute) === true && hours?.has(hour) === true;
}

/** The first moment of each day at which the clocks show each time, or a later one if they never show it. */
function onceADay(walked: readonly Walked[], [seconds, minutes, hours]: readonly Set<number>[]): number[] {
  const days = new Map<string, Walked[]>();
  for (const one of walked) {
    const day = days.get(one.date);
    if (day === undefined) days.set(one.date, [one]);
    else day.push(one);
  }
  const found: number[] = [];
  for (const day of days.values()) {
    for (const hour of hours ?? [])
      for (const minute of minutes ?? [])
        for (const second of seconds ?? []) {
          const wanted = [hour, minute, second].map((value) => String(value).padStart(2, "0")).join(":");
          const met = day.find(({ time }) => time === wanted) ?? day.find(({ time }) => time > wanted);
          if (met !== undefined) found.push(met.ms);
        }
  }
  return found;
}

const walks = new Map<string, readonly Walked[]>();

function walk(zone: string, fromMs: number, toMs: number, stepMs: number): readonly Walked[] {
  const key = `${zone} ${fromMs} ${toMs} ${stepMs}`;
  const known = walks.get(key);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  const walked: Walked[] = [];
  for (let ms = Math.ceil(fromMs / stepMs) * stepMs; ms <= toMs; ms += stepMs) {
    const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    walked.push({
      ms,
      date: `${part["year"]}-${part["month"]}-${part["day"]}`,
      time: `${part["hour"]}:${part["minute"]}:${part["second"]}`,
      weekday: WEEKDAYS.indexOf(part["weekday"] ?? ""),
    });
  }
  walks.set(key, walked);
  return walked;
}

function valuesOf(field: string, lowest: number, highest: number): Set<number> {
  const values = new Set<number>();
  for (const part of field.split(",")) {
    const [range = "", step = "1"] = part.split("/");
    const [from, to = from] = range === "*" ? [lowest, highest] : range.split("-").map(Number);
    for (let value = from as number; value <= (to as number); value += Number(step))
      values.add(value % (highest === 6 ? 7 : 100));
  }
  return values;
}
