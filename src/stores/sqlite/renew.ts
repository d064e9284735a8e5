/** C5, for jobs and for leases held by name. */

import type { Fence, NamedFence } from "../../protocol/identity.ts";
import { leaseLine } from "../../protocol/identity.ts";
import {
  isCurrentHolder,
  type NamedLeaseRefusal,
  namedRefusal,
  renewedLease,
} from "../../protocol/named-lease.ts";
import type { Refusal } from "../../protocol/outcome.ts";
import { lapsedMs, type Renewed } from "../../protocol/renew.ts";
import { currentOf } from "./fences.ts";
import { noteRefusal } from "./journal.ts";
import { type Moment, readMoment } from "./moment.ts";
import type { Statements } from "./statements.ts";
import { findJob, findLease, refuse } from "./transition.ts";

export function renew(statements: Statements, fences: readonly Fence[]): (Renewed | Refusal)[] {
  const moment = readMoment(statements);
  const found = currentOf(statements, fences, moment);
  if (found.size > 0) {
    const seqs = JSON.stringify([...found.values()].map((job) => job.seq));
    statements.run("renew", { seqs, now: moment.nowMs });
    if ([...found.values()].some((job) => job.resource !== null)) {
      statements.run("renew resources", { seqs, now: moment.nowMs });
    }
  }
  return fences.map((fence, index) => {
    const job = found.get(index);
    if (job === undefined)
      return refuse(statements, findJob(statements, fence.jobId), fence, "renew", moment);
    return {
      outcome: "applied",
      lapsedMs: lapsedMs(job, moment.nowMs),
      cancelRequested: job.cancelRequested,
    };
  });
}

export function renewLeases(
  statements: Statements,
  fences: readonly NamedFence[],
): (Renewed | NamedLeaseRefusal)[] {
  const moment = readMoment(statements);
  return fences.map((fence) => {
    const lease = findLease(statements, fence.name);
    if (!isCurrentHolder(lease, fence, moment.epochStart)) {
      return refuseNamed(statements, fence, "renew", moment);
    }
    statements.run("renew lease", {
      name: fence.name,
      lease_until: renewedLease(lease, moment.nowMs).leaseUntilMs,
    });
    return { outcome: "applied", lapsedMs: lapsedMs(lease, moment.nowMs), cancelRequested: false };
  });
}

export function refuseNamed(
  statements: Statements,
  fence: NamedFence,
  operation: "renew" | "release" | "heal",
  moment: Moment,
): NamedLeaseRefusal {
  const answer = namedRefusal(findLease(statements, fence.name), fence, operation);
  if (answer.outcome === "stale") {
    noteRefusal(statements, leaseLine(fence.name), fence, operation, answer.generation, moment.nowMs);
  }
  return answer;
}
