/** I11: whoever has lost its lease, or its trust in it, is told at once, and makes no further effect. */

import type { Delays } from "./delays.ts";
import { type Evidence, groupBy } from "./evidence.ts";
import { checksOf } from "./own-deadline.ts";
import type { Run } from "./runs.ts";
import { ranOutMs, type Trust, tokenKey } from "./trust.ts";
import type { Broken } from "./verdict.ts";

const PROMPT_MS = 50;

export interface Stopping {
  readonly broken: readonly Broken[];
  /** From the loss to the signal, of processes that nothing had stopped, ms, in order. */
  readonly latenciesMs: readonly number[];
}

export function stopping(evidence: Evidence, trust: Trust, delays: Delays): Stopping {
  const broken: Broken[] = [];
  const latenciesMs: number[] = [];
  for (const run of evidence.runs) {
    const lostMs = lossOf(run, trust);
    // Whatever happens to a lease whose run is over concerns nobody.
    if (lostMs === undefined || lostMs >= run.endedMs || (run.abortedMs ?? lostMs + 1) <= lostMs) continue;
    const endMs = Math.min(run.abortedMs ?? run.endedMs, run.endedMs);
    const goesOnMs = delays.stoodUntil(run.process, lostMs, endMs);
    const byMs = goesOnMs + PROMPT_MS + delays.measuredMs(run.process, lostMs, endMs);
    if (endMs > byMs) {
      const what = `I11: ${run.process} was told ${(endMs - lostMs).toFixed(1)} ms after the loss of generation ${run.generation}`;
      broken.push({ what, job: run.job, atMs: lostMs });
    } else if (run.abortedMs !== undefined && goesOnMs === lostMs) {
      latenciesMs.push(endMs - lostMs);
    }
  }
  broken.push(...sentAfterwards(evidence, delays));
  return { broken, latenciesMs: latenciesMs.sort((one, other) => one - other) };
}

function lossOf(run: Run, { grants, refusedMs }: Trust): number | undefined {
  const times = [ranOutMs(grants.get(tokenKey(run))), refusedMs.get(tokenKey(run))].filter(
    (ms) => ms !== undefined && ms >= run.beganMs,
  ) as number[];
  return times.length === 0 ? undefined : Math.min(...times);
}

/** What had looked at the deadline before the signal, and stood still until after it, could not know. */
function sentAfterwards(evidence: Evidence, delays: Delays): Broken[] {
  const checks = checksOf(evidence);
  const writes = groupBy(evidence.callsByOp.get("write") ?? [], ({ invoke }) => tokenKey(invoke));
  return evidence.runs.flatMap((run) => {
    const { abortedMs, process, incarnation } = run;
    if (abortedMs === undefined) return [];
    const late = (writes.get(tokenKey(run)) ?? []).filter(({ invoke }) => {
      if (invoke.process !== process || invoke.incarnation !== incarnation || invoke.atMs <= abortedMs)
        return false;
      const checkedMs = checks.before(invoke);
      if (checkedMs === undefined || checkedMs > abortedMs) return true;
      const gapMs = invoke.atMs - checkedMs;
      const mayBeMs = PROMPT_MS + delays.measuredMs(process, checkedMs, invoke.atMs);
      return gapMs > mayBeMs && !delays.stood(process, checkedMs, invoke.atMs);
    });
    return late.map(({ invoke }) => ({
      what: `I11: ${process} sent ${invoke.key} ${(invoke.atMs - abortedMs).toFixed(1)} ms after its signal had fired`,
      job: run.job,
      atMs: invoke.atMs,
    }));
  });
}
