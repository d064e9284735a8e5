/** I11: whoever has lost its lease, or its trust in it, is told at once, and makes no further effect. */

import { runKey } from "./calls.ts";
import type { Delays } from "./delays.ts";
import { type Evidence, groupBy } from "./evidence.ts";
import { checksOf, wasNotSent } from "./own-deadline.ts";
import type { Run } from "./runs.ts";
import { lapsesOf, type Trust } from "./trust.ts";
import type { Broken } from "./verdict.ts";

/** With what loops do not tell of their delays: they look every 10 ms, and tell from 20 on. */
const PROMPT_MS = 50 + 30;

export interface Stopping {
  readonly broken: readonly Broken[];
  /** From the loss to the signal, of processes that nothing had stopped, ms, in order. */
  readonly latenciesMs: readonly number[];
}

export function stopping(evidence: Evidence, trust: Trust, delays: Delays): Stopping {
  const broken: Broken[] = [];
  const latenciesMs: number[] = [];
  for (const run of evidence.runs) {
    for (const { lostMs, againMs } of lossesOf(run, trust)) {
      // Whatever happens to a lease whose run is over, or has been told to stop, concerns nobody.
      if (lostMs >= run.endedMs || lostMs >= (run.abortedMs ?? Number.POSITIVE_INFINITY)) break;
      const endMs = Math.min(run.abortedMs ?? run.endedMs, run.endedMs, againMs ?? Number.POSITIVE_INFINITY);
      const goesOnMs = delays.stoodUntil(run.process, lostMs, endMs);
      const byMs = goesOnMs + PROMPT_MS + delays.measuredMs(run.process, lostMs, endMs);
      if (endMs > byMs) {
        const what = `I11: ${run.process} went on for ${(endMs - lostMs).toFixed(1)} ms after the loss of generation ${run.generation}`;
        broken.push({ what, job: run.job, atMs: lostMs });
      } else if (endMs === run.abortedMs && goesOnMs === lostMs) {
        latenciesMs.push(endMs - lostMs);
      }
      if (endMs !== againMs) break;
    }
  }
  broken.push(...sentAfterwards(evidence, delays));
  return { broken, latenciesMs: latenciesMs.sort((one, other) => one - other) };
}

/**
 * In their order. A renewal that was asked for too late may be answered before its process has noticed: then nobody has
 * done anything without being the owner, and the run goes on.
 */
function lossesOf(run: Run, { grants, refusedMs }: Trust): ReturnType<typeof lapsesOf> {
  const refused = refusedMs.get(run.key);
  const losses = lapsesOf(grants.get(run.key));
  if (refused !== undefined) losses.push({ lostMs: refused, againMs: undefined });
  return losses.filter(({ lostMs }) => lostMs >= run.beganMs).sort((one, other) => one.lostMs - other.lostMs);
}

/** Upon these a run is to stop although the lease is its own still. */
const STAYS_OWNER: ReadonlySet<string | undefined> = new Set(["cancelled", "max_run", "shutdown"]);

/** What had looked at the deadline before the signal, and stood still until after it, could not know. */
function sentAfterwards(evidence: Evidence, delays: Delays): Broken[] {
  const checks = checksOf(evidence);
  const writes = groupBy(evidence.callsByOp.get("write") ?? [], ({ invoke }) => runKey(invoke));
  return evidence.runs.flatMap((run) => {
    const { abortedMs, reason, process, incarnation } = run;
    if (abortedMs === undefined || STAYS_OWNER.has(reason)) return [];
    const late = (writes.get(run.key) ?? []).filter((call) => {
      const { invoke } = call;
      if (invoke.process !== process || invoke.incarnation !== incarnation || wasNotSent(call)) return false;
      const { checkedMs, sentMs } = checks.of(call);
      if (sentMs <= abortedMs) return false;
      if (checkedMs === undefined || checkedMs > abortedMs) return true;
      const mayBeMs = PROMPT_MS + delays.measuredMs(process, checkedMs, sentMs);
      return sentMs - checkedMs > mayBeMs && !delays.stood(process, checkedMs, sentMs);
    });
    return late.map(({ invoke }) => ({
      what: `I11: ${process} sent ${invoke.key} ${(invoke.atMs - abortedMs).toFixed(1)} ms after its signal had fired`,
      job: run.job,
      atMs: invoke.atMs,
    }));
  });
}
