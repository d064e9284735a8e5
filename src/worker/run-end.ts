/** How runs end: what the store is told of a failure, why trust ended, and what listeners hear. */

import type { EndOfTrust } from "../errors.ts";
import type { Refusal } from "../protocol/outcome.ts";
import { DEFAULT_BACKOFF, retryDelayMs } from "../protocol/retry.ts";
import type { SettledAnswer, Settlement } from "../protocol/settle.ts";
import type { Run } from "./run.ts";
import { errorJson, isFinal } from "./stored-error.ts";

/** `abandoned`: the worker had to close before the outcome was known. */
export type RunEnd = "completed" | "failed" | "cancelled" | "retried" | "released" | "lost" | "abandoned";

/** What becomes of a run whose handler threw: another attempt after its back-off, none, or, at our own stop, no failure. */
export function failureOf(run: Run, thrown: unknown): Settlement {
  const { fence } = run;
  if (run.aborted === "shutdown" || run.releaseReason === "slot_lost")
    return { operation: "release", fence, delayMs: 0 };
  const { backoff, attempt } = run.claimed.job;
  const terms = backoff ?? run.definition?.backoff ?? DEFAULT_BACKOFF;
  const retryInMs = isFinal(thrown) ? "final" : retryDelayMs(terms, attempt, run.host.world.random.next());
  return { operation: "fail", fence, error: errorJson(thrown), retryInMs };
}

/** W3's reason for a refusal. */
export function endOfTrust(refusal: Refusal): EndOfTrust {
  if (refusal.outcome !== "stale") return "lease_superseded";
  if (refusal.reason === "revoked") return "revoked";
  return refusal.reason === "cancelled" ? "cancelled" : "lease_superseded";
}

/** The run's last event. */
export function tellEnd(run: Run, how: RunEnd, answer: SettledAnswer | undefined): void {
  const { events } = run.host;
  if (how === "abandoned" || !events.has(how === "retried" ? "retrying" : how)) return;
  const { ref: job, thrown: error, settlement } = run;
  if (how === "completed") events.emit("completed", { job });
  else if (how === "cancelled") events.emit("cancelled", { job });
  else if (how === "released") events.emit("released", { job, why: run.releaseReason });
  else if (how === "failed") events.emit("failed", { job, error, endReason: answer?.endReason ?? null });
  else if (how === "lost") events.emit("lost", { job, refusal: run.refusal as Refusal });
  else if (settlement?.operation === "fail" && settlement.retryInMs !== "final") {
    events.emit("retrying", { job, error, retryInMs: settlement.retryInMs });
  }
}
