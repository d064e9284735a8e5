/** The faults of a drill, and in which order they come. */

import type { Random } from "../../clock/world.ts";

export type FaultName =
  | "pause"
  | "block"
  | "cut-off"
  | "kill-at-claim"
  | "kill-before-complete"
  | "lost-reply";

/** What is done to owner A of a job in one round; owner B is left alone and takes the job over. */
export const FAULTS: Readonly<Record<FaultName, string>> = {
  pause: "stopped between deadline check and write, for longer than its lease",
  block: "its event loop blocked there, for longer than its lease",
  "cut-off": "goes on working without any answer to its renewals, and writes late",
  "kill-at-claim": "killed when the claim was answered, before it did anything",
  "kill-before-complete": "killed between its effect and the completion",
  "lost-reply": "answers lost to it: those of an effect and of its completion",
};

export const FAULT_NAMES = Object.keys(FAULTS) as readonly FaultName[];

/** After these A acts although somebody else has the job. */
export const LEAVES_A_LATE_OWNER: ReadonlySet<FaultName> = new Set(["pause", "block", "cut-off"]);

export interface PlannedRound {
  /** From 1. */
  readonly number: number;
  readonly fault: FaultName;
  /** How long A has been at it when the fault comes, ms. */
  readonly delayMs: number;
  /** Where B is when A acts late. */
  readonly successor: "at work" | "done";
}

const LONGEST_DELAY_MS = 60;

/** Each fault `times` times, mixed; the same numbers give the same plan. */
export function plannedRounds(
  faults: readonly FaultName[],
  times: number,
  { next }: Random,
): readonly PlannedRound[] {
  const order = faults.flatMap((fault) => Array.from({ length: times }, (_, n) => ({ fault, n })));
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(next() * (last + 1));
    [order[last], order[other]] = [order[other], order[last]] as [(typeof order)[0], (typeof order)[0]];
  }
  return order.map(({ fault, n }, index) => ({
    number: index + 1,
    fault,
    delayMs: Math.round(LONGEST_DELAY_MS * (0.5 + next() / 2)),
    // In turns: a drill of two rounds has seen both.
    successor: n % 2 === 0 ? "at work" : "done",
  }));
}
