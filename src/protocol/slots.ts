/**
 * Which slots of a schedule are due, pure: the calendar is a function from a moment to the first slot after it.
 *
 * What has been dealt with is kept as stretches of time, not as one last slot: after the store's clock was a year ahead
 * for a minute, the last slot lies a year ahead too, and a schedule that only goes forward would sleep until then. With
 * stretches, the year between is known to be open, and what was fired within the minute is known to be done.
 */

import type { DueSchedule, Firing, Stretch } from "./schedule.ts";

/** The first slot after a moment, ms since 1970; null when there is none any more. */
export type Calendar = (afterMs: number) => number | null;

/**
 * A slot is missed when it is later than this, ms of store time. Looks, stores that are busy and workers that start take
 * some time, which must not make a slot of each second fall under the rules for an outage.
 */
export const ON_TIME_MS = 60_000;

/** More stretches are not kept: what lies between the two that are farthest from the present counts as dealt with. */
const MOST_STRETCHES = 4;

/**
 * The slots that are due at `nowMs`: all that are on time, and of those that are late so many that `atMost` are enqueued
 * in all. Those before are passed over.
 */
export function firing(schedule: DueSchedule, nowMs: number, calendar: Calendar): Firing {
  const { name, revision, nextSlotMs: foundSlotMs, atMost } = schedule;
  // A clock that stands before all that is known of was set back: the schedule goes on as if it were made now.
  const isBegun = schedule.covered.some(([fromMs]) => fromMs <= nowMs);
  const covered: readonly Stretch[] = isBegun
    ? schedule.covered
    : bounded([[nowMs, nowMs], ...schedule.covered], nowMs);
  const slots = dueSlots(covered, atMost, nowMs, calendar);
  const first = slots[0];
  const last = slots.at(-1);
  const after = first === undefined || last === undefined ? covered : cover(covered, [first, last], calendar);
  return {
    name,
    revision,
    foundSlotMs,
    slots,
    covered: after,
    nextSlotMs: nextOpen(after, nowMs, calendar),
    lastSlotMs: last ?? schedule.lastSlotMs,
  };
}

/** The first slot after `afterMs` that has not been dealt with. */
export function nextOpen(covered: readonly Stretch[], afterMs: number, calendar: Calendar): number | null {
  let slot = calendar(afterMs);
  for (const [fromMs, toMs] of covered) {
    if (slot !== null && slot >= fromMs && slot <= toMs) slot = calendar(toMs);
  }
  return slot;
}

/** As of `nowMs` nothing before it is open any more: what a new or changed definition begins with. */
export function closedUpTo(covered: readonly Stretch[], nowMs: number): readonly Stretch[] {
  const before = covered.filter(([fromMs]) => fromMs <= nowMs);
  const toMs = Math.max(nowMs, ...before.map(([, end]) => end));
  return [[before[0]?.[0] ?? nowMs, toMs], ...covered.filter(([fromMs]) => fromMs > nowMs)];
}

function dueSlots(
  covered: readonly Stretch[],
  atMost: number,
  nowMs: number,
  calendar: Calendar,
): readonly number[] {
  const begun = covered.filter(([fromMs]) => fromMs <= nowMs).at(-1);
  const openFromMs = begun === undefined ? null : nextOpen(covered, begun[1], calendar);
  if (openFromMs === null || openFromMs > nowMs) return [];
  const onTimeFromMs = Math.max(openFromMs, nowMs - ON_TIME_MS);
  const slots: number[] = [];
  let slot = nextOpen(covered, onTimeFromMs - 1, calendar);
  for (; slot !== null && slot <= nowMs; slot = nextOpen(covered, slot, calendar)) slots.push(slot);
  let guessMs = ON_TIME_MS;
  for (let untilMs = onTimeFromMs - 1; slots.length < atMost; ) {
    const late = latestSlot(untilMs, openFromMs, guessMs, calendar);
    if (late === null) break;
    guessMs = Math.max(1, untilMs - late);
    untilMs = late - 1;
    slots.unshift(late);
  }
  return slots;
}

/**
 * The last slot from `fromMs` to `untilMs`; null when there is none. A calendar only goes forward, so the slot is
 * enclosed: by steps back that double, from a guess on, and then by halves.
 */
function latestSlot(untilMs: number, fromMs: number, guessMs: number, calendar: Calendar): number | null {
  if (untilMs < fromMs) return null;
  const slotAfter = (ms: number): number | null => {
    const slot = calendar(ms);
    return slot !== null && slot <= untilMs ? slot : null;
  };
  let low = untilMs;
  let found: number | null = null;
  for (let stepMs = guessMs; found === null; stepMs *= 2) {
    if (low < fromMs) return null;
    low = Math.max(untilMs - stepMs, fromMs - 1);
    found = slotAfter(low);
  }
  let high = untilMs;
  for (;;) {
    const next = slotAfter(found);
    if (next === null) return found;
    found = next;
    low = found;
    const middle = Math.floor((low + high) / 2);
    const later = slotAfter(middle);
    if (later === null) high = middle;
    else found = later;
  }
}

/** Adds a stretch, and makes one of those between which there is no slot. */
function cover(covered: readonly Stretch[], added: Stretch, calendar: Calendar): readonly Stretch[] {
  const sorted = [...covered, added].sort(([one], [other]) => one - other);
  const joined: Stretch[] = [];
  for (const stretch of sorted) {
    const last = joined.at(-1);
    const open = last === undefined ? null : calendar(last[1]);
    if (last === undefined || (open !== null && open < stretch[0])) joined.push(stretch);
    else joined[joined.length - 1] = [last[0], Math.max(last[1], stretch[1])];
  }
  return bounded(joined, added[1]);
}

function bounded(stretches: readonly Stretch[], nowMs: number): readonly Stretch[] {
  const kept = [...stretches];
  while (kept.length > MOST_STRETCHES) {
    const at = (kept[1]?.[0] ?? 0) <= nowMs ? 0 : kept.length - 2;
    const [one, other] = kept.slice(at, at + 2) as [Stretch, Stretch];
    kept.splice(at, 2, [one[0], other[1]]);
  }
  return kept;
}
