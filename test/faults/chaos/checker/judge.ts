/** One pass over a record: the audit is the serial order, so nothing is searched for. */

import type { RunRecord } from "../record.ts";
import { answersAgree } from "./answers.ts";
import { around } from "./around.ts";
import { countsOf } from "./counts.ts";
import { appliedOnce, endIsTheEnd, fenceMonotone, noForeignToken } from "./effects.ts";
import { type Evidence, evidenceOf } from "./evidence.ts";
import { flawsOf } from "./flaws.ts";
import { floorsOf } from "./floors.ts";
import { nothingStuck } from "./stuck.ts";
import { judgeTransitions } from "./transitions-judged.ts";
import { type Finding, INVARIANTS, type Invariant, type Judgement, type Verdict } from "./verdict.ts";

/** So many violations of one invariant are shown with their surroundings. */
const SHOWN = 5;

const broken = (found: Extract<Judgement, { broken: unknown }>["broken"]): Judgement => ({ broken: found });

/** What the audit alone tells (I1 to I6, I15, half of I19) is judged together, and comes as `rows`. */
const JUDGES: Partial<Record<Invariant, (evidence: Evidence) => Judgement>> = {
  I7: (evidence) => broken(fenceMonotone(evidence)),
  I8: (evidence) => broken(appliedOnce(evidence)),
  I9: (evidence) => broken(noForeignToken(evidence)),
  I13: (evidence) => broken(answersAgree(evidence)),
  I14: nothingStuck,
  I23: (evidence) => broken(endIsTheEnd(evidence)),
};

export function judge(record: RunRecord): Verdict {
  const startedMs = performance.now();
  const harness = flawsOf(record);
  const tookMs = (): number => performance.now() - startedMs;
  if (harness.length > 0) {
    return {
      result: "harness error",
      harness,
      findings: [],
      floors: [],
      counts: undefined,
      tookMs: tookMs(),
    };
  }
  const evidence = evidenceOf(record);
  const rows = judgeTransitions(evidence);
  const findings = (Object.keys(INVARIANTS) as Invariant[]).map((invariant) => {
    const judgement = JUDGES[invariant]?.(evidence) ?? broken([]);
    const fromRows = rows.get(invariant) ?? [];
    if ("notJudged" in judgement && fromRows.length === 0) return notJudged(invariant, judgement.notJudged);
    const all = [...fromRows, ...("broken" in judgement ? judgement.broken : [])];
    return findingOf(evidence, invariant, all);
  });
  const counts = countsOf(evidence);
  const floors = floorsOf(evidence, counts);
  const isBroken = findings.some(({ status }) => status === "broken");
  const isVoid = floors.some(({ wanted, seen }) => seen < wanted);
  const result = isBroken ? "broken" : isVoid ? "void" : "pass";
  return { result, harness, findings, floors, counts, tookMs: tookMs() };
}

function notJudged(invariant: Invariant, why: string): Finding {
  return { invariant, status: "not judged", why, violations: [], count: 0 };
}

function findingOf(
  evidence: Evidence,
  invariant: Invariant,
  all: readonly { readonly what: string }[],
): Finding {
  const violations = all.slice(0, SHOWN).map((one) => ({ ...one, around: around(evidence, one) }));
  return { invariant, status: all.length > 0 ? "broken" : "holds", violations, count: all.length };
}
