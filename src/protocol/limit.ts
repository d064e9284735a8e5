/**
 * Limits of a queue over all workers: how many of its jobs run at once, and how many begin within a length of time. Both
 * are asked in the claim itself, so that a job which has to wait was never claimed and its attempt never counted.
 */

import type { NamedFence } from "./identity.ts";
import { isFree, type NamedLease } from "./named-lease.ts";

export interface RateLimit {
  /** So many jobs may begin … */
  readonly count: number;
  /** … in any stretch of so many ms, by the store's clock (T1). */
  readonly perMs: number;
}

export interface QueueLimit {
  /** How many jobs of the queue run at once; null: as many as there are places for. */
  readonly concurrency: number | null;
  readonly rate: RateLimit | null;
}

/** How many jobs began in the step of time that begins at `fromMs`, store time; the oldest first. */
export type Starts = readonly (readonly [fromMs: number, count: number])[];

/** Starts are kept by steps, a hundred to a `perMs`: what is stored is bounded, whatever the count. */
const STEPS = 100;

function stepMs({ perMs }: RateLimit): number {
  return Math.ceil(perMs / STEPS);
}

/** What lies in the future tells of a clock that was set back; it counts as begun now (as T5 does with leases). */
export function recentStarts(starts: Starts, rate: RateLimit, nowMs: number): Starts {
  const lastMs = stepMs(rate) - 1;
  return starts
    .map(([fromMs, count]) => [Math.min(fromMs, nowMs), count] as const)
    .filter(([fromMs]) => nowMs - (fromMs + lastMs) < rate.perMs);
}

export function withStarts(starts: Starts, rate: RateLimit, began: number, nowMs: number): Starts {
  const recent = recentStarts(starts, rate, nowMs);
  const fromMs = nowMs - (nowMs % stepMs(rate));
  const last = recent.at(-1);
  if (last === undefined || last[0] < fromMs) return [...recent, [fromMs, began]];
  return [...recent.slice(0, -1), [last[0], last[1] + began]];
}

export interface Allowance {
  readonly jobs: number;
  /** When the rate alone forbids more: so many ms from now it allows the next. */
  readonly nextInMs: number | undefined;
}

/** How many of `wanted` jobs may be claimed now, `slots` being all named leases of the queue's slots. */
export function allowance(
  { concurrency, rate }: QueueLimit,
  starts: Starts,
  slots: readonly NamedLease[],
  wanted: number,
  nowMs: number,
): Allowance {
  const held = slots.filter((slot) => !isFree(slot, nowMs)).length;
  const places = concurrency === null ? wanted : Math.max(0, Math.min(wanted, concurrency - held));
  if (rate === null) return { jobs: places, nextInMs: undefined };
  const recent = recentStarts(starts, rate, nowMs);
  const left = Math.max(0, rate.count - recent.reduce((sum, [, count]) => sum + count, 0));
  if (places <= left) return { jobs: places, nextInMs: undefined };
  const oldestMs = recent[0]?.[0] ?? nowMs;
  return { jobs: left, nextInMs: oldestMs + stepMs(rate) - 1 + rate.perMs - nowMs };
}

/** Of two waits the shorter one; undefined is none. */
export function sooner(oneMs: number | undefined, otherMs: number | undefined): number | undefined {
  return oneMs === undefined || otherMs === undefined ? (oneMs ?? otherMs) : Math.min(oneMs, otherMs);
}

/** Named leases of this beginning are the store's own; callers cannot ask for them. */
export const OWN_LEASES = "leasehold:";

/** Where a queue's slots stand among the named leases: from the first name up to, not including, the second. */
export function slotRange(queue: string): readonly [from: string, to: string] {
  const prefix = `${OWN_LEASES}slot:${encodeURIComponent(queue)}`;
  return [`${prefix}/`, `${prefix}0`]; // "0" is what follows "/"
}

export function isSlotOf(queue: string, { name }: { readonly name: string }): boolean {
  const [from, to] = slotRange(queue);
  return name >= from && name < to;
}

/**
 * The names of `count` slots that are free, lowest first; `slots` are all of the queue's that were ever held. A lower
 * limit than before leaves those above it to their holders, and `allowance` counts them until they are given up.
 */
export function freeSlotNames(
  queue: string,
  slots: readonly NamedLease[],
  count: number,
  nowMs: number,
): readonly string[] {
  const held = new Set(slots.filter((slot) => !isFree(slot, nowMs)).map(({ name }) => name));
  const [from] = slotRange(queue);
  const names: string[] = [];
  for (let n = 1; names.length < count; n++) if (!held.has(from + n)) names.push(from + n);
  return names;
}

/** What a run holds beside its job while its queue has a `concurrency`; given up when its handler has ended. */
export type Slot = NamedFence;
