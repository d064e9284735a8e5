/** Between the store's clock, by which the audit is written, and the monotonic one of the histories. */

import type { Call } from "./calls.ts";
import { answerOf } from "./calls.ts";
import { type Fault, overlaps } from "./faults.ts";

/** Fewer answers than this say nothing about how the two clocks stand to each other. */
const FEWEST = 5;

export class StoreTime {
  /** What the store's clock is ahead of the monotonic one, ms; undefined when nobody can know. */
  readonly aheadMs: number | undefined;
  readonly #steps: readonly Fault[];

  private constructor(aheadMs: number | undefined, steps: readonly Fault[]) {
    this.aheadMs = aheadMs;
    this.#steps = steps;
  }

  /** @param rowMs when the row was written that a call was answered for, by the store's clock */
  static of(
    known: number | undefined,
    store: string,
    calls: readonly Call[],
    faults: readonly Fault[],
    rowMs: (call: Call) => number | undefined,
  ): StoreTime {
    // A file has no clock: there each process's own is the store's (T1).
    const steps = faults.filter(
      ({ kind, target }) =>
        kind === "clock" && (store.startsWith("sqlite") || !/^(worker|client|dest)/.test(target ?? "")),
    );
    if (known !== undefined) return new StoreTime(known, steps);
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
    return new StoreTime(differences.length < FEWEST ? undefined : median, steps);
  }

  /** Undefined where the two cannot be compared: a time of a clock that was set forth and back may be of any moment. */
  monotonicMs(storeMs: number): number | undefined {
    return this.aheadMs === undefined || this.#steps.length > 0 ? undefined : storeMs - this.aheadMs;
  }

  storeMs(atMs: number): number | undefined {
    return this.aheadMs === undefined ? undefined : atMs + this.aheadMs;
  }

  isStepped(fromMs: number, toMs: number): boolean {
    return this.#steps.some((step) => overlaps(step, fromMs, toMs));
  }
}
