/** I16: a lapsed lease is taken over soon, when somebody is there who has room for it. */

import type { Evidence } from "./evidence.ts";
import { overlaps } from "./faults.ts";
import type { Broken, Judgement } from "./verdict.ts";

const REPLY_MS = 250;
/** Fewer say nothing about their 99th part. */
const FEWEST = 10;

export function recovery(evidence: Evidence): Judgement {
  const { record, changes, time, faults, callsByOp } = evidence;
  const boundMs = record.pollMs + record.sweepMs + REPLY_MS;
  const asked = (callsByOp.get("claim") ?? []).map(({ invoke }) => invoke.atMs);
  const isBusy = faults.filter(
    ({ kind, detail }) =>
      kind === "store" ||
      kind === "failover" ||
      kind === "partition" ||
      detail["point"] === "in-store-transaction",
  );
  const waits: { readonly afterMs: number; readonly broken: Broken }[] = [];
  for (const { operation, before, nowMs, job, seq } of changes) {
    if (operation !== "claim" || before?.leaseUntilMs == null) continue;
    const afterMs = nowMs - before.leaseUntilMs;
    const lapsedMs = time.monotonicMs(before.leaseUntilMs);
    if (lapsedMs === undefined) continue;
    // Who asks has a free place (W1). Without anybody who asks in time, nobody had.
    const hadRoom = asked.some((ms) => ms >= lapsedMs && ms <= lapsedMs + record.pollMs + record.sweepMs);
    const isHeldUp = isBusy.some((fault) => overlaps(fault, lapsedMs, lapsedMs + boundMs));
    if (!hadRoom || isHeldUp) continue;
    waits.push({
      afterMs,
      broken: { what: `I16: taken over ${afterMs} ms after its lease had lapsed`, job, seq },
    });
  }
  if (waits.length < FEWEST)
    return { notJudged: `${waits.length} re-claims with a free worker, fewer than ${FEWEST}` };
  waits.sort((one, other) => one.afterMs - other.afterMs);
  const late = waits.slice(Math.ceil(waits.length * 0.99) - 1).filter(({ afterMs }) => afterMs > boundMs);
  // One in a hundred may be late: it is the one below that is judged.
  const p99 = waits[Math.ceil(waits.length * 0.99) - 1]!;
  if (p99.afterMs <= boundMs) return { broken: [] };
  return {
    broken: late.map(({ broken }) => ({ ...broken, what: `${broken.what}, more than ${boundMs} at p99` })),
  };
}
