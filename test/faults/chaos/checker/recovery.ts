/** I16: a lapsed lease is taken over soon, when somebody is there who has room for it. */

import type { Owner } from "../../../../src/protocol/identity.ts";
import { CONCURRENCY } from "../settings.ts";
import type { Call } from "./calls.ts";
import type { Delays } from "./delays.ts";
import { type Evidence, groupBy } from "./evidence.ts";
import { type Fault, felt, overlaps, strikes } from "./faults.ts";
import type { Broken, Judgement } from "./verdict.ts";

const REPLY_MS = 250;
/** Fewer say nothing about their 99th part. */
const FEWEST = 10;

/** It was answered, took lapsed jobs as well, and would have taken one more. */
function hadRoomLeft({ invoke, replies }: Call): boolean {
  const { limit = Number.POSITIVE_INFINITY, takeover } = invoke.detail ?? {};
  const isAnswered = replies.every(({ kind }) => kind === "ok");
  return (
    isAnswered && takeover !== false && replies.filter(({ job }) => job !== undefined).length < Number(limit)
  );
}

/** It has taken a lapsed job over, or ended one: a worker does so for one at a time (W8), and others wait for their turn. */
function tookOneOver({ replies }: Call): boolean {
  return replies.some(({ detail }) => {
    const ended = detail?.["ended"];
    return detail?.["previous"] !== undefined || (Array.isArray(ended) && ended.length > 0);
  });
}

export function recovery(evidence: Evidence, delays: Delays): Judgement {
  const { record, changes, time, faults, callsByOp } = evidence;
  const boundMs = record.pollMs + record.sweepMs + REPLY_MS;
  const claims = callsByOp.get("claim") ?? [];
  const asked = claims.filter(hadRoomLeft).map(({ invoke }) => invoke);
  const outOfTouch = faults.filter(({ kind }) => kind === "partition" || kind === "freeze").map(felt);
  const stops = faults.filter(({ kind }) => kind === "stop");
  const takeOvers = claims.filter(tookOneOver);
  const unanswered = claims.filter(({ replies }) => replies.every(({ kind }) => kind !== "ok"));
  const runs = groupBy(evidence.runs, ({ process }) => process);
  /** At some moment between the two times all of its places were taken. */
  const wasFull = (process: string, fromMs: number, toMs: number): boolean => {
    const meanwhile = (runs.get(process) ?? []).filter((run) => run.beganMs <= toMs && run.endedMs >= fromMs);
    return meanwhile.some(
      ({ beganMs }) =>
        meanwhile.filter((run) => run.beganMs <= beganMs && run.endedMs > beganMs).length >= CONCURRENCY,
    );
  };
  /** Told to stop, cut off, without an answer of the store, or busy with other lapsed jobs than this one. */
  const isElsewhere = (process: string, job: string, fromMs: number, toMs: number): boolean =>
    stops.some((fault) => strikes(fault, process) && overlaps(fault, fromMs, toMs)) ||
    outOfTouch.some((fault) => fault.target === process && overlaps(fault, fromMs, toMs)) ||
    unanswered.some(({ invoke, replies }) => {
      const untilMs = Math.max(...replies.map(({ atMs }) => atMs), invoke.atMs);
      return invoke.process === process && invoke.atMs <= toMs && untilMs >= fromMs;
    }) ||
    takeOvers.some(
      ({ invoke, replies }) =>
        invoke.process === process &&
        invoke.atMs >= fromMs &&
        invoke.atMs <= toMs &&
        replies.every((reply) => reply.job !== job),
    );
  const isBusy = faults.filter(
    ({ kind, detail }) =>
      kind === "store" || kind === "failover" || detail["point"] === "in-store-transaction",
  );
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
    const isHeldUp =
      isBusy.some((fault) => overlaps(fault, lapsedMs, lapsedMs + boundMs)) ||
      outOfTouch.some(
        (fault) => overlaps(fault, lapsedMs, lapsedMs + boundMs) && mayHoldIt(fault, before.owner),
      );
    // Set forth it makes leases lapse that were renewed just now, set back it makes them begin in the future.
    const takenMs = time.monotonicMs(nowMs) ?? Number.POSITIVE_INFINITY;
    const wasSet = time.wasOff(lapsedMs - 2 * record.leaseMs, Math.max(takenMs, lapsedMs + 2 * boundMs));
    if (isHeldUp || wasSet) continue;
    // Who gets fewer than it asks for has a place left (W1). Without anybody who asks so in time, and goes on, nobody had.
    const free = asked.filter(
      ({ process, atMs }) =>
        atMs >= lapsedMs &&
        atMs <= lapsedMs + record.pollMs + record.sweepMs &&
        !delays.stood(process, atMs, lapsedMs + boundMs) &&
        !isElsewhere(process, job, lapsedMs, lapsedMs + Math.min(afterMs, boundMs)) &&
        !wasFull(process, lapsedMs, lapsedMs + Math.min(afterMs, boundMs)),
    );
    if (free.length === 0) continue;
    const busyMs = Math.min(
      ...free.map(({ process }) => delays.measuredMs(process, lapsedMs, lapsedMs + afterMs, "any")),
    );
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
