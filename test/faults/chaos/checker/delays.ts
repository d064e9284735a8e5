/** What kept a process from going on: the nemesis, or a busy machine, as far as it was measured. */

import type { Evidence } from "./evidence.ts";
import { groupBy } from "./evidence.ts";
import { overlaps, standsStill } from "./faults.ts";

export class Delays {
  readonly #evidence: Evidence;
  readonly #measured: ReadonlyMap<
    string,
    readonly { readonly atMs: number; readonly ms: number; readonly thread: string }[]
  >;

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
    const notes = (evidence.notes.get("loop delay") ?? []).map(({ process, atMs, detail }) => ({
      process,
      atMs,
      ms: Number(detail?.["ms"] ?? 0),
      thread: String(detail?.["thread"] ?? "main"),
    }));
    this.#measured = groupBy(notes, ({ process }) => process);
  }

  /** Whether the process was stopped, blocked or killed between the two times. */
  stood(process: string, fromMs: number, toMs: number): boolean {
    return this.#evidence.faults.some(
      (fault) => standsStill(fault, process) && overlaps(fault, fromMs, toMs),
    );
  }

  /** From when it was stopped, if it was between the two times; else the first of them. */
  stoodFrom(process: string, fromMs: number, toMs: number): number {
    const begins = this.#evidence.faults
      .filter((fault) => standsStill(fault, process) && overlaps(fault, fromMs, toMs))
      .map((fault) => fault.fromMs);
    return Math.min(fromMs, ...begins);
  }

  /** Until when it was stopped, if it was between the two times; else the first of them. */
  stoodUntil(process: string, fromMs: number, toMs: number): number {
    const ends = this.#evidence.faults
      .filter((fault) => standsStill(fault, process) && overlaps(fault, fromMs, toMs))
      .map((fault) => fault.toMs);
    return Math.max(fromMs, ...ends);
  }

  /** By how much the process's event loop was late between the two times, as it has noticed itself, ms. */
  measuredMs(process: string, fromMs: number, toMs: number, of: "main" | "any" = "main"): number {
    return (this.#measured.get(process) ?? [])
      .filter(({ thread }) => of === "any" || thread === of)
      .filter(({ atMs, ms }) => atMs >= fromMs && atMs - ms <= toMs)
      .reduce((sum, { ms }) => sum + ms, 0);
  }
}
