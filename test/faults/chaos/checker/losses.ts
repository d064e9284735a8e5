/** What a failover may lose, and did. */

import type { HistoryEvent } from "../record.ts";
import type { Call } from "./calls.ts";
import type { Evidence } from "./evidence.ts";
import type { Fault } from "./faults.ts";

/**
 * Whether an asynchronous failover may have lost what this call was told: it was acknowledged after the last write that
 * the standby has, and asked for before that one was promoted.
 */
export function mayBeLost(evidence: Evidence, { invoke }: Call, reply: HistoryEvent): boolean {
  return evidence.faults.some((fault) => {
    const fromMs = lostAfterMs(fault);
    return fromMs !== undefined && reply.atMs >= fromMs && invoke.atMs <= fault.toMs;
  });
}

/** Monotonic; undefined when the fault loses nothing. */
export function lostAfterMs({ kind, detail }: Fault): number | undefined {
  if (kind !== "failover" || detail["mode"] === "sync") return undefined;
  const ms = detail["lostAfterMs"];
  return typeof ms === "number" ? ms : undefined;
}
