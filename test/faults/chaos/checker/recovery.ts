/** I16: a lapsed lease is taken over soon, when somebody is there who has room for it. */

import type { Owner } from "../../../../src/protocol/identity.ts";
import type { Delays } from "./delays.ts";
import type { Evidence } from "./evidence.ts";
import { type Fault, overlaps, standsStill } from "./faults.ts";
import { FreeWorkers, outOfTouchIn } from "./free-workers.ts";
import type { Broken, Judgement } from "./verdict.ts";

const REPLY_MS = 250;
/** So long a renewal's answer is waited for at least, and so long it takes to tell that the file was locked, ms. */
const LOCKED_MS = 40;

/**
 * A file has one writer: who stands still in its transaction holds up all others, which shows in calls that find it locked. When
 * they did.
 */
function whileLocked({ record, calls, faults }: Evidence): Pick<Fault, "fromMs" | "toMs">[] {
  if (!record.store.startsWith("sqlite")) return [];
  const still = faults.filter((fault) => standsStill(fault, fault.target ?? ""));
  return calls.flatMap(({ invoke, replies: [reply] }) => {
    if (reply?.outcome !== "busy" || reply.atMs - invoke.atMs < LOCKED_MS) return [];
    const isHeldUp = still.some(
      ({ target, fromMs, toMs }) => target !== invoke.process && fromMs <= invoke.atMs && reply.atMs <= toMs,
    );
    return isHeldUp ? [{ fromMs: invoke.atMs, toMs: reply.atMs }] : [];
  });
}

/** Fewer say nothing about their 99th part. */
const FEWEST = 10;

export function recovery(evidence: Evidence, delays: Delays): Judgement {
  const { record, changes, time, faults, callsByOp } = evidence;
  const boundMs = record.pollMs + record.sweepMs + REPLY_MS;
  const workers = new FreeWorkers(evidence, delays);
  const outOfTouch = outOfTouchIn(faults);
  const isBusy: Pick<Fault, "fromMs" | "toMs">[] = faults.filter(
    ({ kind, detail }) =>
      kind === "store" || kind === "failover" || detail["point"] === "in-store-transaction",
  );
  isBusy.push(...whileLocked(evidence));
  /** Whoever is cut off or stopped in the midst of a transaction keeps the locks of its rows until the server has noticed. */
  const mayHoldIt = ({ target, fromMs, toMs }: Fault, owner: Owner | null): boolean =>
    (callsByOp.get("settle") ?? []).some(
      ({ invoke, replies }) =>
        invoke.process === target &&
        invoke.owner === owner &&
        invoke.atMs <= toMs &&
        (replies[0]?.atMs ?? Number.POSITIVE_INFINITY) >= fromMs,
    );
  const waits: { readonly afterMs: number; readonly broken: Broken }[] = [];
  for (const { operation, before, nowMs, job, seq } of changes) {
    if (operation !== "claim" || before?.leaseUntilMs == null) continue;
    const afterMs = nowMs - before.leaseUntilMs;
    const lapsedMs = time.monotonicMs(before.leaseUntilMs);
    if (lapsedMs === undefined) continue;
    const isHeldUpWithin = (ms: number): boolean =>
      isBusy.some((fault) => overlaps(fault, lapsedMs, lapsedMs + ms)) ||
      outOfTouch.some((fault) => overlaps(fault, lapsedMs, lapsedMs + ms) && mayHoldIt(fault, before.owner));
    // Set forth it makes leases lapse that were renewed just now, set back it makes them begin in the future.
    const takenMs = time.monotonicMs(nowMs) ?? Number.POSITIVE_INFINITY;
    const wasSet = time.wasOff(lapsedMs - 2 * record.leaseMs, Math.max(takenMs, lapsedMs + 2 * boundMs));
    if (isHeldUpWithin(boundMs) || wasSet) continue;
    const free = workers.freeFor(job, lapsedMs, afterMs, boundMs);
    if (free.length === 0) continue;
    const busyMs = Math.min(
      ...free.map((process) => delays.measuredMs(process, lapsedMs, lapsedMs + afterMs, "any")),
    );
    // Whose loop was late may have found the store gone when its turn came.
    if (isHeldUpWithin(boundMs + busyMs)) continue;
    waits.push({
      afterMs: afterMs - busyMs,
      broken: {
        what: `I16: taken over ${afterMs} ms after its lease had lapsed, its loop late by ${busyMs.toFixed(0)} ms`,
        job,
        seq,
      },
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
