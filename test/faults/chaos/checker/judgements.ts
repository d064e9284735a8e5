/** Who judges which invariant. */

import { answersAgree } from "./answers.ts";
import { cancelsAgree } from "./cancels.ts";
import { Delays } from "./delays.ts";
import { durability } from "./durability.ts";
import { appliedOnce, endIsTheEnd, fenceMonotone, noForeignToken } from "./effects.ts";
import type { Evidence } from "./evidence.ts";
import { overlapsOf } from "./overlaps.ts";
import { ownDeadline } from "./own-deadline.ts";
import { noLeaks, processesLive } from "./processes.ts";
import { recovery } from "./recovery.ts";
import { scheduleSlots } from "./schedule-slots.ts";
import { stopping } from "./stopping.ts";
import { nothingStuck } from "./stuck.ts";
import { judgeTransitions } from "./transitions-judged.ts";
import { trustOf } from "./trust.ts";
import type { Broken, Invariant, Judgement, Measures } from "./verdict.ts";
import { noWorkerClock } from "./worker-clocks.ts";

export interface Judged {
  readonly judgements: Readonly<Record<Invariant, Judgement>>;
  readonly measures: Measures;
}

export function judgementsOf(evidence: Evidence): Judged {
  const rows = judgeTransitions(evidence);
  const trust = trustOf(evidence);
  const delays = new Delays(evidence);
  const deadline = ownDeadline(evidence, trust, delays);
  const stops = stopping(evidence, trust, delays);
  const overlaps = overlapsOf(evidence, trust, delays);
  const kept = durability(evidence);
  /** What rows alone tell of it, and what else was found. */
  const found = (invariant: Invariant, more: readonly Broken[] = []): Judgement => ({
    broken: [...(rows.get(invariant) ?? []), ...more],
  });
  return {
    judgements: {
      I1: found("I1"),
      I2: found("I2"),
      I3: found("I3"),
      I4: found("I4"),
      I5: found("I5"),
      I6: found("I6"),
      I7: found("I7", fenceMonotone(evidence)),
      I8: found("I8", appliedOnce(evidence)),
      I9: found("I9", noForeignToken(evidence)),
      I10: found("I10", deadline.broken),
      I11: found("I11", stops.broken),
      I12: found("I12", kept.broken),
      I13: found("I13", answersAgree(evidence)),
      I14: nothingStuck(evidence),
      I15: found("I15"),
      I16: recovery(evidence, delays),
      I17: found("I17", overlaps.broken),
      I18: scheduleSlots(evidence),
      I19: found("I19", cancelsAgree(evidence)),
      I20: noLeaks(evidence),
      I21: found("I21", processesLive(evidence)),
      I22: noWorkerClock(evidence),
      I23: found("I23", endIsTheEnd(evidence)),
    },
    measures: {
      overlapsMs: [...overlaps.lengthsMs].sort((one, other) => one - other),
      stopsMs: stops.latenciesMs,
      frozenInTheGap: deadline.frozenInTheGap,
      losses: kept.losses,
    },
  };
}
