/** What a failover may lose, and did. */

import type { HistoryEvent } from "../record.ts";
import { type Call, fenceKey } from "./calls.ts";
import type { Evidence } from "./evidence.ts";
import type { Fault } from "./faults.ts";
import type { Change } from "./transitions.ts";

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

/** Where it is known what was lost: whether what the call was told is among it, and has not gone otherwise. */
export function isLost({ record, lost }: Evidence, { op, invoke }: Call): boolean {
  if (record.lost === undefined) return true;
  return lost.some(({ job, operation, fence }) =>
    op === "settle"
      ? fence !== undefined && operation !== "renew" && fenceKey(fence) === fenceKey(invoke)
      : job === invoke.job && operation === "enqueue",
  );
}

/** A clock that tells whole ms may be that much behind. */
const ROUNDING_MS = 1;

/** Whether a change of that time may be lost by this fault; by a synchronous failover one that nobody was told of. */
export function isOfFailover(fault: Fault, atMs: number): boolean {
  if (fault.kind !== "failover") return false;
  return atMs >= (lostAfterMs(fault) ?? fault.fromMs) - ROUNDING_MS && atMs <= fault.toMs + ROUNDING_MS;
}

/** A transaction is open for no longer than its caller waits for it, in leases. */
const LONGEST_TRANSACTION = 4;

/**
 * A row tells when it was written, and what a failover loses is what was committed after the last write that the standby has:
 * a little older, and nobody may have been told of it by then. The last write that a synchronous standby has is older than the
 * failover.
 */
export function mayHaveBeenOpen(evidence: Evidence, { job, fence }: Change, atMs: number): boolean {
  const told = [...evidence.callsByOp.values()].flat().filter((call) => {
    if (call.invoke.job !== job && call.replies.every((reply) => reply.job !== job)) return false;
    return fence === undefined || fenceKey(fence) === fenceKey(call.invoke);
  });
  const toldMs = Math.min(
    ...told.flatMap(({ replies }) =>
      replies.filter(({ kind, atMs: ms }) => kind === "ok" && ms >= atMs).map(({ atMs: ms }) => ms),
    ),
  );
  return evidence.faults.some((fault) => {
    if (fault.kind !== "failover" || atMs > fault.toMs) return false;
    const fromMs = lostAfterMs(fault) ?? fault.fromMs;
    return atMs >= fromMs - LONGEST_TRANSACTION * evidence.record.leaseMs && toldMs >= fromMs;
  });
}

/** Monotonic; undefined when the fault loses nothing that was acknowledged. */
function lostAfterMs({ kind, detail }: Fault): number | undefined {
  if (kind !== "failover" || detail["mode"] === "sync") return undefined;
  const ms = detail["lostAfterMs"];
  return typeof ms === "number" ? ms : undefined;
}
