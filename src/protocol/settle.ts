/** C6 complete, C7 fail, C8 release: how an owner ends its run. The condition is C5's; see `isCurrent`. */

import type { Fence } from "./identity.ts";
import {
  type EndReason,
  type JobRecord,
  type JobState,
  LAST_MOMENT_MS,
  type SettleOperation,
} from "./job.ts";
import { type NamedLease, releasedLease } from "./named-lease.ts";

export type Settlement =
  | {
      readonly operation: "complete";
      readonly fence: Fence /** JSON text. */;
      readonly result: string | null;
    }
  | {
      readonly operation: "fail";
      readonly fence: Fence;
      /** JSON text of name, message, stack and cause. */
      readonly error: string;
      /** Delay before the next attempt, ms; `"final"` when trying again is of no use. */
      readonly retryInMs: number | "final";
    }
  | {
      readonly operation: "release";
      readonly fence: Fence;
      /** The job is due again after this many ms; its attempt is given back. */
      readonly delayMs: number;
    };

/** What the job became by the settling. */
export interface SettledAnswer {
  readonly outcome: "applied";
  readonly state: JobState;
  readonly endReason: EndReason | null;
}

export function settle(
  job: JobRecord,
  lease: NamedLease | undefined,
  settlement: Settlement,
  nowMs: number,
): { readonly job: JobRecord; readonly lease: NamedLease | undefined; readonly answer: SettledAnswer } {
  const { fence, operation } = settlement;
  const end = endOf(job, settlement);
  const settled: JobRecord = {
    ...job,
    ...fieldsOf(job, settlement),
    state: end.state,
    endReason: end.endReason,
    runAtMs: end.state === "ready" ? dueAtMs(settlement, nowMs) : null,
    finishedAtMs: end.state === "ready" ? null : nowMs,
    cancelRequested: false,
    owner: null,
    leaseUntilMs: null,
    resourceGeneration: null,
    expiredCount: 0,
    settled: { owner: fence.owner, generation: fence.generation, operation },
  };
  return {
    job: settled,
    lease: job.resource === null || lease === undefined ? undefined : releasedLease(lease),
    answer: { outcome: "applied", ...end },
  };
}

/** C13: while a cancel is pending only a completion or a final failure ends the job as itself. */
export function endOf(
  job: Pick<JobRecord, "attempt" | "maxAttempts" | "cancelRequested">,
  settlement: { readonly operation: SettleOperation; readonly retryInMs?: number | "final" },
): { readonly state: JobState; readonly endReason: EndReason | null } {
  if (settlement.operation === "complete") return { state: "completed", endReason: "completed" };
  if (settlement.operation === "fail" && settlement.retryInMs === "final") {
    return { state: "failed", endReason: "final" };
  }
  if (job.cancelRequested) return { state: "cancelled", endReason: "cancelled" };
  if (settlement.operation === "fail" && job.attempt >= job.maxAttempts) {
    return { state: "failed", endReason: "attempts_exhausted" };
  }
  return { state: "ready", endReason: null };
}

function fieldsOf(job: JobRecord, settlement: Settlement): Partial<JobRecord> {
  if (settlement.operation === "complete") return { result: settlement.result, error: null };
  if (settlement.operation === "fail") return { error: settlement.error };
  return { attempt: Math.max(0, job.attempt - 1) };
}

/** A delay that any cap allows may end beyond what stores can hold: one such row would stop every claim that meets it. */
function dueAtMs(settlement: Settlement, nowMs: number): number | null {
  if (settlement.operation === "complete") return null;
  const delayMs = settlement.operation === "fail" ? settlement.retryInMs : settlement.delayMs;
  return delayMs === "final" || delayMs <= 0 ? null : Math.min(nowMs + delayMs, LAST_MOMENT_MS);
}
