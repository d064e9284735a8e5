/** What is found about a run, invariant by invariant. */

import type { Counts } from "./counts.ts";

export const INVARIANTS = {
  I1: "token unique",
  I2: "generation steps",
  I3: "legal claim",
  I4: "legal renewal",
  I5: "legal end",
  I6: "terminal is final",
  I7: "fence monotone",
  I8: "applied once",
  I9: "no foreign token",
  I10: "own deadline kept",
  I11: "stop is prompt",
  I12: "acknowledged is durable",
  I13: "answers agree with the audit",
  I14: "nothing stuck",
  I15: "attempts bounded",
  I16: "recovery time",
  I17: "overlaps explained",
  I18: "cron exact",
  I19: "cancel agrees",
  I20: "no leaks",
  I21: "process lives",
  I22: "no worker clock in SQL",
  I23: "the end is the end",
} as const;

export type Invariant = keyof typeof INVARIANTS;

/** One thing that broke an invariant, and where to look. */
export interface Broken {
  readonly what: string;
  readonly job?: string;
  /** Monotonic ms; or else the place in the audit. */
  readonly atMs?: number;
  readonly seq?: number;
}

/** `notJudged`: the record does not tell, with the reason; that is no pass of this invariant. */
export type Judgement = { readonly broken: readonly Broken[] } | { readonly notJudged: string };

export interface Violation extends Broken {
  /** Audit and history of the job around it, and the faults that overlap them, as lines. */
  readonly around: readonly string[];
}

export interface Finding {
  readonly invariant: Invariant;
  readonly status: "holds" | "broken" | "not judged";
  /** Why it was not judged. */
  readonly why?: string;
  readonly violations: readonly Violation[];
  /** More violations were found than are shown. */
  readonly count: number;
}

export interface Floor {
  readonly name: string;
  readonly wanted: number;
  readonly seen: number;
}

/** What judging has measured on the way, ms, in order. */
export interface Measures {
  readonly overlapsMs: readonly number[];
  /** From a loss to the signal. */
  readonly stopsMs: readonly number[];
  readonly frozenInTheGap: number;
  /** What was acknowledged and lost, as an asynchronous failover may. */
  readonly losses: number;
}

export interface Verdict {
  readonly result: "pass" | "broken" | "void" | "harness error";
  /** What is wrong with the record itself: then nothing was judged. */
  readonly harness: readonly string[];
  readonly findings: readonly Finding[];
  readonly floors: readonly Floor[];
  readonly counts: Counts | undefined;
  readonly measures: Measures | undefined;
  readonly tookMs: number;
}

/** 0 pass, 1 broken, 2 void, 3 harness error. */
export function exitCodeOf({ result }: Pick<Verdict, "result">): 0 | 1 | 2 | 3 {
  if (result === "pass") return 0;
  if (result === "broken") return 1;
  return result === "void" ? 2 : 3;
}
