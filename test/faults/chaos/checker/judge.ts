/** One pass over a record: the audit is the serial order, so nothing is searched for. */

import type { RunRecord } from "../record.ts";
import { around } from "./around.ts";
import { countsOf } from "./counts.ts";
import { type Evidence, evidenceOf } from "./evidence.ts";
import { flawsOf } from "./flaws.ts";
import { floorsOf } from "./floors.ts";
import { judgementsOf } from "./judgements.ts";
import { type Broken, type Finding, INVARIANTS, type Invariant, type Verdict } from "./verdict.ts";

/** So many violations of one invariant are shown with their surroundings. */
const SHOWN = 5;

export function judge(record: RunRecord): Verdict {
  const startedMs = performance.now();
  const harness = flawsOf(record);
  if (harness.length > 0) {
    const tookMs = performance.now() - startedMs;
    const nothing = { findings: [], floors: [], counts: undefined, measures: undefined };
    return { result: "harness error", harness, ...nothing, tookMs };
  }
  const evidence = evidenceOf(record);
  const { judgements, measures } = judgementsOf(evidence);
  const findings = (Object.keys(INVARIANTS) as Invariant[]).map((invariant) => {
    const judgement = judgements[invariant];
    return "notJudged" in judgement
      ? notJudged(invariant, judgement.notJudged)
      : findingOf(evidence, invariant, judgement.broken);
  });
  const counts = countsOf(evidence);
  const floors = floorsOf(evidence, counts);
  const isBroken = findings.some(({ status }) => status === "broken");
  const isVoid = floors.some(({ wanted, seen }) => seen < wanted);
  const result = isBroken ? "broken" : isVoid ? "void" : "pass";
  return { result, harness, findings, floors, counts, measures, tookMs: performance.now() - startedMs };
}

function notJudged(invariant: Invariant, why: string): Finding {
  return { invariant, status: "not judged", why, violations: [], count: 0 };
}

function findingOf(evidence: Evidence, invariant: Invariant, all: readonly Broken[]): Finding {
  const violations = all.slice(0, SHOWN).map((one) => ({ ...one, around: around(evidence, one) }));
  return { invariant, status: all.length > 0 ? "broken" : "holds", violations, count: all.length };
}
