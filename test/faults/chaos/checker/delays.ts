/** What kept a process from going on: the nemesis, or a busy machine, as far as it was measured. */

import type { Evidence } from "./evidence.ts";
import { groupBy } from "./evidence.ts";
import { overlaps, standsStill } from "./faults.ts";

/** How often the processes write down the longest delay of their event loops, ms; shorter than 50 ms they do not say. */
const MEASURED_EVERY_MS = 250;

export class Delays {
  readonly #evidence: Evidence;
  readonly #measured: ReadonlyMap<string, readonly { readonly atMs: number; readonly maxMs: number }[]>;

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
    const notes = (evidence.notes.get("loop delay") ?? []).map(({ process, atMs, detail }) => ({
      process,
      atMs,
      maxMs: Number(detail?.["maxMs"] ?? 0),
    }));
    this.#measured = groupBy(notes, ({ process }) => process);
  }

  /** Whether the process was stopped, blocked or killed between the two times. */
  stood(process: string, fromMs: number, toMs: number): boolean {
    return this.#evidence.faults.some(
      (fault) => standsStill(fault, process) && overlaps(fault, fromMs, toMs),
    );
  }

  /** Until when it was stopped, if it was between the two times; else the first of them. */
  stoodUntil(process: string, fromMs: number, toMs: number): number {
    const ends = this.#evidence.faults
      .filter((fault) => standsStill(fault, process) && overlaps(fault, fromMs, toMs))
      .map((fault) => fault.toMs);
    return Math.max(fromMs, ...ends);
  }

  /** The longest delay of the event loop that was measured around the two times, ms. */
  measuredMs(process: string, fromMs: number, toMs: number): number {
    const near = (this.#measured.get(process) ?? []).filter(
      ({ atMs, maxMs }) => atMs >= fromMs && atMs - MEASURED_EVERY_MS - maxMs <= toMs,
    );
    return Math.max(0, ...near.map(({ maxMs }) => maxMs));
  }
}
