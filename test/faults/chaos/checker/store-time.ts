/** Between the store's clock, by which the audit is written, and the monotonic one of the histories. */

import type { Call } from "./calls.ts";
import { answerOf } from "./calls.ts";
import { type Fault, isOfStoresClock, overlaps } from "./faults.ts";

/** Fewer answers than this say nothing about how the two clocks stand to each other. */
const FEWEST = 5;
/** A clock is set a moment after its fault has been written down, and set right a moment before its end has. */
const SETTING_MS = 250;

/** What is known of the run before its clocks can be held against each other. */
interface Known {
  readonly wallAheadMs: number | undefined;
  readonly store: string;
  /** Monotonic: nothing of the run was earlier or, but for what it has put off, later. */
  readonly fromMs: number;
  readonly toMs: number;
}

export class StoreTime {
  /** What the store's clock is ahead of the monotonic one when nobody has set it off, ms; undefined when nobody can know. */
  readonly aheadMs: number | undefined;
  readonly #steps: readonly Fault[];
  readonly #known: Known;

  private constructor(aheadMs: number | undefined, steps: readonly Fault[], known: Known) {
    this.aheadMs = aheadMs;
    this.#steps = steps;
    this.#known = known;
  }

  /** @param rowMs when the row was written that a call was answered for, by the store's clock */
  static of(
    known: Known,
    calls: readonly Call[],
    faults: readonly Fault[],
    rowMs: (call: Call) => number | undefined,
  ): StoreTime {
    const steps = faults.filter((fault) => isOfStoresClock(fault, known.store));
    if (known.wallAheadMs !== undefined) return new StoreTime(known.wallAheadMs, steps, known);
    const differences: number[] = [];
    for (const call of calls) {
      const { told, reply } = answerOf(call);
      const storeMs = told === "yes" ? rowMs(call) : undefined;
      if (storeMs === undefined || reply === undefined) continue;
      if (steps.some((step) => overlaps(step, call.invoke.atMs, reply.atMs))) continue;
      differences.push(storeMs - (call.invoke.atMs + reply.atMs) / 2);
    }
    differences.sort((one, other) => one - other);
    const median = differences[Math.floor(differences.length / 2)];
    return new StoreTime(differences.length < FEWEST ? undefined : median, steps, known);
  }

  /** Undefined where the two cannot be compared: a time of a clock that was set off may be of more than one moment. */
  monotonicMs(storeMs: number): number | undefined {
    if (this.aheadMs === undefined) return undefined;
    const { fromMs, toMs } = this.#known;
    const atMs = storeMs - this.aheadMs;
    const moments = this.#steps.length === 0 || (atMs >= fromMs && atMs <= toMs) ? [atMs] : [];
    for (const step of this.#steps) {
      const setOffMs = atMs - offsetOf(step);
      // A lease ends later than it was granted, by what may be another setting of the clock.
      if (setOffMs >= step.fromMs && setOffMs <= step.toMs + SETTING_MS) moments.push(setOffMs);
    }
    return moments.length === 1 ? moments[0] : undefined;
  }

  /** As it was for this process: with a file each one's own clock is the store's (T1). */
  storeMs(atMs: number, process?: string): number | undefined {
    if (this.aheadMs === undefined) return undefined;
    const off = this.#steps.filter((step) => this.#strikes(step, process) && overlaps(step, atMs, atMs));
    return off.reduce((ms, step) => ms + offsetOf(step), atMs + this.aheadMs);
  }

  /** Whether the clock was set between the two times, whichever way. */
  isStepped(fromMs: number, toMs: number, process?: string): boolean {
    return this.#steps.some((step) => {
      if (!this.#strikes(step, process)) return false;
      const began = { fromMs: step.fromMs, toMs: step.fromMs + SETTING_MS };
      const ended = { fromMs: step.toMs - SETTING_MS, toMs: step.toMs };
      return overlaps(began, fromMs, toMs) || overlaps(ended, fromMs, toMs);
    });
  }

  /**
   * What else the clock may have said to whoever wrote a row at this time: it was set just then, and a transaction has asked
   * it before that and after.
   */
  othersOf(storeMs: number): number[] {
    const { aheadMs } = this;
    if (aheadMs === undefined) return [];
    const isAt = (monotonicMs: number, fromMs: number): boolean =>
      Math.abs(monotonicMs - fromMs) <= SETTING_MS;
    return this.#steps.flatMap((step) => {
      const offsetMs = offsetOf(step);
      const wasRight = isAt(storeMs - aheadMs - offsetMs, step.fromMs) ? [storeMs - offsetMs] : [];
      const wasOff = isAt(storeMs - aheadMs, step.toMs) ? [storeMs + offsetMs] : [];
      return [...wasRight, ...wasOff];
    });
  }

  /** Whether the clock was off at some moment between the two times. */
  wasOff(fromMs: number, toMs: number): boolean {
    return this.#steps.some((step) => overlaps(step, fromMs, toMs));
  }

  /** By how much the clock was set, in all its settings. */
  get offsetsMs(): readonly number[] {
    return [...new Set(this.#steps.map(offsetOf))];
  }

  #strikes({ target }: Fault, process: string | undefined): boolean {
    return process === undefined || !this.#known.store.startsWith("sqlite") || target === process;
  }
}

function offsetOf({ detail }: Fault): number {
  return Number(detail["offsetMs"] ?? 0);
}
