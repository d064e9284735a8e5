/**
 * I10: an effect is sent before the end of trust, which counts from when the claim or renewal was *asked* for, unless its
 * process stood still between its look at the deadline and the sending.
 */

import type { HistoryEvent } from "../record.ts";
import type { Delays } from "./delays.ts";
import { type Evidence, groupBy } from "./evidence.ts";
import { lifeKey } from "./lives.ts";
import { type Trust, tokenKey, trustedUntil } from "./trust.ts";
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
  for (const { invoke } of evidence.callsByOp.get("write") ?? []) {
    const untilMs = trustedUntil(trust.grants.get(tokenKey(invoke)), invoke.atMs);
    const where = { atMs: invoke.atMs, ...(invoke.job === undefined ? {} : { job: invoke.job }) };
    if (untilMs === undefined) {
      broken.push({ what: `I10: ${invoke.key} was sent without an answered claim`, ...where });
      continue;
    }
    if (invoke.atMs < untilMs) continue;
    const checkedMs = checks.before(invoke);
    const lateMs = invoke.atMs - untilMs;
    if (checkedMs !== undefined && checkedMs < untilMs) {
      if (delays.stood(invoke.process, checkedMs, invoke.atMs)) {
        frozenInTheGap += 1;
        continue;
      }
      if (lateMs <= delays.measuredMs(invoke.process, checkedMs, invoke.atMs)) continue;
    }
    broken.push({
      what: `I10: ${invoke.key} was sent ${lateMs.toFixed(1)} ms after its owner's deadline`,
      ...where,
    });
  }
  return { broken, frozenInTheGap };
}

export interface Checks {
  /** When the deadline was looked at last before this was sent. */
  before(sent: HistoryEvent): number | undefined;
}

export function checksOf({ notes }: Evidence): Checks {
  const key = (event: HistoryEvent): string => `${lifeKey(event)} ${tokenKey(event)}`;
  const checks = groupBy(notes.get("check") ?? [], key);
  return {
    before(sent) {
      const own = checks.get(key(sent)) ?? [];
      return own.findLast(
        (check) => check.atMs <= sent.atMs && (check.key === undefined || check.key === sent.key),
      )?.atMs;
    },
  };
}
