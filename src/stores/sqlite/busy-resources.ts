import { isFree } from "../../protocol/named-lease.ts";
import type { Candidate } from "./new-row.ts";
import { PHASE } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { findLease } from "./transition.ts";

/**
 * A job whose resource is held waits for it from the start, and so do all but the first of one call: else a claim
 * would have to pass them one by one. The order is the same (C15): while it is held nothing of it runs, and whoever
 * gives it up frees the first of those that wait.
 */
export function waitForBusyResources(
  statements: Statements,
  candidates: readonly Candidate[],
  nowMs: number,
): void {
  const first = new Map<string, Candidate | "held">();
  for (const candidate of candidates) {
    const { resource, priority } = candidate.job;
    if (resource === null || candidate.row["phase"] !== PHASE.ready) continue;
    const before = first.get(resource);
    if (before === undefined) {
      const isHeld = !isFree(findLease(statements, resource), nowMs);
      first.set(resource, isHeld ? "held" : candidate);
      if (isHeld) candidate.row = { ...candidate.row, phase: PHASE.waiting };
    } else if (before !== "held" && priority < before.job.priority) {
      before.row = { ...before.row, phase: PHASE.waiting };
      first.set(resource, candidate);
    } else {
      candidate.row = { ...candidate.row, phase: PHASE.waiting };
    }
  }
}
