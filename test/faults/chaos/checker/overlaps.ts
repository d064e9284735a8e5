/**
 * I17: each stretch in which two processes ran one job has a cause: something stopped the older one, or cut it off, or its
 * job was taken from it. What goes on after the cause is over is explained by nothing.
 */

import { runKey } from "./calls.ts";
import type { Delays } from "./delays.ts";
import { type Evidence, groupBy } from "./evidence.ts";
import { type Fault, felt, overlaps as overlapsFault, standsStill, strikes } from "./faults.ts";
import type { Run } from "./runs.ts";
import type { Grant, Trust } from "./trust.ts";
import type { Broken } from "./verdict.ts";

/** How long a process may take to notice that it goes on, and its handler to return. */
const NOTICED_MS = 50;

export interface Overlaps {
  readonly broken: readonly Broken[];
  readonly lengthsMs: readonly number[];
}

export function overlapsOf(evidence: Evidence, trust: Trust, delays: Delays): Overlaps {
  const broken: Broken[] = [];
  const lengthsMs: number[] = [];
  for (const runs of groupBy(evidence.runs, ({ job }) => job).values()) {
    const inOrder = [...runs].sort(
      (one, other) => one.generation - other.generation || one.beganMs - other.beganMs,
    );
    for (const [index, newer] of inOrder.entries()) {
      for (const older of inOrder.slice(0, index)) {
        const fromMs = Math.max(older.beganMs, newer.beganMs);
        const toMs = Math.min(older.endedMs, newer.endedMs);
        if (toMs <= fromMs || isOneProcess(older, newer)) continue;
        lengthsMs.push(toMs - fromMs);
        const why = unexplained(evidence, trust, delays, older, fromMs, toMs);
        if (why !== undefined)
          broken.push({
            what: `I17: ${words(older)} and ${words(newer)} ran at once for ${(toMs - fromMs).toFixed(1)} ms: ${why}`,
            job: older.job,
            atMs: fromMs,
          });
      }
    }
  }
  return { broken, lengthsMs };
}

function isOneProcess(one: Run, other: Run): boolean {
  return one.process === other.process && one.incarnation === other.incarnation;
}

function words({ process, incarnation, generation }: Run): string {
  return `${process}/${incarnation} at ${generation}`;
}

function unexplained(
  evidence: Evidence,
  trust: Trust,
  delays: Delays,
  older: Run,
  fromMs: number,
  toMs: number,
): string | undefined {
  if (wasLeftToLapse(evidence, older, fromMs) || stoodAtItsBeginning(evidence, older)) return undefined;
  // It was its owner, and in touch, when it last asked for what was granted.
  const grants = trust.grants.get(older.key) ?? [];
  const heldMs = Math.max(
    older.beganMs,
    ...grants.map(({ askedMs }) => askedMs).filter((ms) => ms <= fromMs),
  );
  const causes = evidence.faults
    .map(felt)
    .filter((fault) => overlapsFault(fault, heldMs, fromMs) && isCause(evidence, fault, older));
  const measuredMs = delays.measuredMs(older.process, heldMs, toMs, "any");
  // What a clock that was set forth has taken, its owner hears of as of a revoke: with its next renewal.
  const byClock = causes.some(({ kind }) => kind === "clock") && trustsNoLonger(grants, evidence, toMs);
  const taken = byClock || takenFrom(evidence, older);
  if (causes.length === 0 && !taken && measuredMs < evidence.record.marginMs)
    return "nothing had befallen the older one";
  // From the moment its signal has fired it knows, and its handler is on its way out.
  if (older.abortedMs !== undefined && older.abortedMs <= toMs) return undefined;
  const endMs = Math.max(fromMs, ...causes.map((fault) => fault.toMs));
  const goesOnMs = delays.stoodUntil(older.process, endMs, toMs);
  const byMs = goesOnMs + NOTICED_MS + measuredMs;
  if (toMs <= byMs || taken) return undefined;
  return `the older one went on for ${(toMs - goesOnMs).toFixed(1)} ms after its fault, and was not told`;
}

/** W4: its signal had fired and its handler ignored it, as one does that waits for a service it is cut off from. */
function wasLeftToLapse({ notes }: Evidence, { key, process, abortedMs }: Run, atMs: number): boolean {
  if (abortedMs === undefined || abortedMs > atMs) return false;
  const stuck = notes.get("stuck") ?? [];
  return stuck.some((note) => note.process === process && note.atMs <= atMs && runKey(note) === key);
}

/**
 * It stood still between the look at its lease and its handler's beginning: no look is the beginning itself. Then its process
 * has told nothing else since it went on.
 */
function stoodAtItsBeginning({ record, faults }: Evidence, run: Run): boolean {
  const { process, incarnation, beganMs, job } = run;
  const stood = faults.findLast((fault) => standsStill(fault, process) && fault.toMs <= beganMs);
  if (stood === undefined) return false;
  return !record.history.some(
    (event) =>
      event.process === process &&
      event.incarnation === incarnation &&
      event.atMs >= stood.toMs &&
      event.atMs < beganMs &&
      event.op !== "loop delay" &&
      !(event.op === "started" && event.job === job),
  );
}

/** Nothing goes on for longer than its owner could trust what it was granted last. */
function trustsNoLonger(grants: readonly Grant[], { record }: Evidence, toMs: number): boolean {
  const untilMs = Math.max(0, ...grants.map((grant) => grant.untilMs));
  return toMs <= untilMs + record.marginMs;
}

function isCause(evidence: Evidence, fault: Fault, { process, incarnation }: Run): boolean {
  if (fault.kind === "other") return false;
  // There one worker's clock is the store's while it claims.
  if (fault.kind === "clock" && evidence.record.store.startsWith("sqlite")) return true;
  if (strikes(fault, process)) return true;
  // A file has one writer: who stands still in its transaction holds up everybody, which shows in calls without an answer.
  if (!evidence.record.store.startsWith("sqlite") || !standsStill(fault, fault.target ?? "")) return false;
  return evidence.calls.some(({ op, invoke, replies }) => {
    if (op === "write" || invoke.process !== process || invoke.incarnation !== incarnation) return false;
    const answeredMs = replies[0]?.atMs ?? fault.toMs;
    return (
      answeredMs - invoke.atMs > evidence.record.marginMs && overlapsFault(fault, invoke.atMs, answeredMs)
    );
  });
}

/** Revoked, or ended by an operator: the run hears of it with its next renewal. */
function takenFrom({ changesByJob }: Evidence, { job, owner, generation }: Run): boolean {
  return (changesByJob.get(job) ?? []).some(
    ({ operation, before }) =>
      (operation === "revoke" || operation === "heal") &&
      before?.generation === generation &&
      (owner === undefined || before.owner === owner),
  );
}
