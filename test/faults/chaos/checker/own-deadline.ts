/**
 * I10: an effect is sent before the end of trust, which counts from when the claim or renewal was *asked* for, unless its
 * process stood still between its look at the deadline and the sending.
 */

import type { HistoryEvent } from "../record.ts";
import { type Call, runKey } from "./calls.ts";
import type { Delays } from "./delays.ts";
import { type Evidence, groupBy } from "./evidence.ts";
import { lifeKey } from "./lives.ts";
import { type Trust, trustedUntil } from "./trust.ts";
import type { Broken } from "./verdict.ts";

export interface OwnDeadline {
  readonly broken: readonly Broken[];
  /** Sent late by a process that stood still in the gap; each has to be refused, or to be its owner's still. */
  readonly frozenInTheGap: number;
}

export function ownDeadline(evidence: Evidence, trust: Trust, delays: Delays): OwnDeadline {
  const checks = checksOf(evidence);
  const broken: Broken[] = [];
  let frozenInTheGap = 0;
  for (const call of evidence.callsByOp.get("write") ?? []) {
    const { invoke } = call;
    if (wasNotSent(call)) continue;
    const grants = trust.grants.get(runKey(invoke));
    const { checkedMs, sentMs, waitedMs } = checks.of(call);
    const untilMs = trustedUntil(grants, sentMs);
    const where = { atMs: sentMs, ...(invoke.job === undefined ? {} : { job: invoke.job }) };
    if (untilMs === undefined) {
      broken.push({ what: `I10: ${invoke.key} was sent without an answered claim`, ...where });
      continue;
    }
    if (sentMs < untilMs) continue;
    const lateMs = sentMs - untilMs;
    const late = {
      what: `I10: ${invoke.key} was sent ${lateMs.toFixed(1)} ms after its owner's deadline`,
      ...where,
    };
    if (checkedMs === undefined) {
      broken.push(late);
      continue;
    }
    // It has looked some time between this and when that was written down.
    const lookedMs = checkedMs - waitedMs;
    if (lookedMs < untilMs && sentMs - lookedMs <= STRAIGHT_MS) continue;
    if (delays.stoodFrom(invoke.process, lookedMs, sentMs) < untilMs) {
      if (delays.stood(invoke.process, lookedMs, sentMs)) {
        frozenInTheGap += 1;
        continue;
      }
      if (lateMs <= Math.max(waitedMs, delays.measuredMs(invoke.process, checkedMs, sentMs))) continue;
    }
    broken.push(late);
  }
  return { broken, frozenInTheGap };
}

/** From a look in time to the sending, ms, of a thread that goes straight from one to the other: no look is the sending itself. */
const STRAIGHT_MS = 1;

/** A kit may look once more after the harness has written down that it is about to send: then nothing is sent. */
export function wasNotSent({ replies }: Call): boolean {
  return replies.some(({ detail }) => detail?.["error"] === "LH_LEASE_NOT_TRUSTED");
}

export interface Checks {
  /** When the deadline was looked at last before it was sent, and when that was. */
  of(call: Call): {
    readonly checkedMs: number | undefined;
    readonly sentMs: number;
    /** For how long its thread had no processor around the two, so that they were written down later than they were. */
    readonly waitedMs: number;
  };
}

export function checksOf({ notes }: Evidence): Checks {
  const key = (event: HistoryEvent): string => `${lifeKey(event)} ${runKey(event)} ${event.key}`;
  const checks = groupBy(notes.get("check") ?? [], key);
  return {
    of({ invoke, replies }) {
      const own = checks.get(key(invoke)) ?? [];
      const answeredMs = replies[0]?.atMs ?? Number.POSITIVE_INFINITY;
      const check = own.findLast(({ atMs }) => atMs <= answeredMs);
      const checkedMs = check?.atMs;
      const isAfter = checkedMs !== undefined && invoke.atMs >= checkedMs;
      const waitedMs = waitedOf(check) + (isAfter ? waitedOf(invoke) : 0);
      return { checkedMs, sentMs: Math.max(invoke.atMs, checkedMs ?? 0), waitedMs };
    },
  };
}

function waitedOf(event: HistoryEvent | undefined): number {
  return Number(event?.detail?.["waitedMs"] ?? 0);
}
