import { isFree } from "../../protocol/named-lease.ts";
import { inLine } from "../resource-line.ts";
import type { Candidate } from "./new-row.ts";
import { PHASE } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { findLease } from "./transition.ts";

/** A job whose resource is held, or stands in the line already, waits for it from the start. */
export function waitForBusyResources(
  statements: Statements,
  candidates: readonly Candidate[],
  nowMs: number,
): void {
  const due = candidates.filter(({ job, row }) => job.resource !== null && row["phase"] === PHASE.ready);
  if (due.length === 0) return;
  const byJob = new Map(due.map((candidate) => [candidate.job, candidate]));
  const { leaders, followers } = inLine(due.map(({ job }) => job));
  const isBusy = ({ job, row }: Candidate): boolean =>
    !isFree(findLease(statements, job.resource), nowMs) ||
    statements.get("job in line", { resource: job.resource, queue: row["queue"], priority: job.priority }) !==
      undefined;
  const busy = leaders.filter((job) => isBusy(byJob.get(job) as Candidate));
  for (const job of [...followers, ...busy]) {
    const candidate = byJob.get(job) as Candidate;
    candidate.row = { ...candidate.row, phase: PHASE.waiting };
  }
}
