/** Which operation made one row of the other: the audit has the rows, not the words. */

import type { Fence, Generation } from "../../../../src/protocol/identity.ts";
import type { Operation, Transition } from "../../../../src/protocol/invariants.ts";
import { isEnded, type JobRecord } from "../../../../src/protocol/job.ts";
import type { NamedLease } from "../../../../src/protocol/named-lease.ts";
import type { AuditEntry } from "../record.ts";

/** The rows of one change as a transition that the invariants can judge. */
export function transitionOf(
  before: JobRecord | undefined,
  after: JobRecord | undefined,
  entry: Pick<AuditEntry, "was" | "is" | "storeMs" | "epoch" | "deletedGeneration">,
  stepsMs: readonly number[] = [],
): Transition {
  const operation = operationOf(before, after, entry);
  const fence = fenceOf(operation, before, after);
  return {
    operation,
    before,
    after,
    nowMs: nowOf(operation, after, entry.storeMs, stepsMs),
    floor: { epoch: entry.epoch, deletedGeneration: (entry.deletedGeneration ?? 0) as Generation },
    ...(fence === undefined ? {} : { fence }),
    ...(before?.resource == null ? {} : { lease: leaseOf(before) }),
    // Whoever healed had been shown a mark, which the row does not tell: what it became is taken for it.
    ...(operation === "heal" && after !== undefined ? { mark: after.generation } : {}),
  };
}

function operationOf(
  before: JobRecord | undefined,
  after: JobRecord | undefined,
  entry: Pick<AuditEntry, "was" | "is">,
): Operation {
  if (after === undefined) return "delete";
  if (before === undefined || (isEnded(before) && !isEnded(after))) {
    return after.raisedBy === "retry" ? "retry" : "enqueue";
  }
  if (after.heals > before.heals) return "heal";
  if (isSettledAnew(before, after)) return after.settled?.operation ?? "release";
  if (after.generation > before.generation && after.owner === null) {
    if (after.raisedBy === "revoke" || after.raisedBy === "retry") return after.raisedBy;
    return "expire";
  }
  if (isEnded(after)) return endedBy(after);
  if (after.owner !== null && isTaken(before, after)) return "claim";
  // Given up without a word: an end that its owner never signed, which I5 refuses.
  if (after.owner === null && before.owner !== null) return "release";
  return after.owner === null ? whileNobodys(before, after) : whileLeased(before, after, entry);
}

function isTaken(before: JobRecord, after: JobRecord): boolean {
  return (
    after.owner !== before.owner || after.generation !== before.generation || after.attempt > before.attempt
  );
}

function isSettledAnew({ settled: was }: JobRecord, { settled: is }: JobRecord): boolean {
  if (is === null) return false;
  return was?.owner !== is.owner || was.generation !== is.generation || was.operation !== is.operation;
}

/** An end that no owner has signed. */
function endedBy({ endReason }: JobRecord): Operation {
  if (endReason === "lease_expired") return "expire";
  if (endReason === "replaced") return "replace";
  if (endReason === "completed") return "complete";
  if (endReason === "final" || endReason === "attempts_exhausted") return "fail";
  return "cancel";
}

function whileNobodys(before: JobRecord, after: JobRecord): Operation {
  if (after.input !== before.input || after.leaseMs !== before.leaseMs) return "replace";
  if (before.runAtMs !== null && after.runAtMs === null) return "promote";
  return "write";
}

function whileLeased(before: JobRecord, after: JobRecord, entry: Pick<AuditEntry, "was" | "is">): Operation {
  const wasUntilMs = before.leaseUntilMs ?? 0;
  const untilMs = after.leaseUntilMs ?? 0;
  if (untilMs < wasUntilMs) return "rebase";
  if (after.cancelRequested && !before.cancelRequested) return "cancel";
  // A renewal within the millisecond of the last changes nothing; a sweep changes which index the row stands in.
  return untilMs > wasUntilMs || isSame(entry) ? "renew" : "write";
}

function isSame({ was, is }: Pick<AuditEntry, "was" | "is">): boolean {
  return was !== null && is !== null && Object.keys(is).every((column) => was[column] === is[column]);
}

function fenceOf(
  operation: Operation,
  before: JobRecord | undefined,
  after: JobRecord | undefined,
): Fence | undefined {
  if (operation === "complete" || operation === "fail" || operation === "release") {
    const isSigned = before !== undefined && after !== undefined && isSettledAnew(before, after);
    const settled = isSigned ? after.settled : null;
    return settled === null ? undefined : { ...settled, jobId: after!.jobId };
  }
  // Whether it was the owner's own renewal only the owner's history can tell (I13).
  if (operation !== "renew" || before?.owner == null) return undefined;
  return { jobId: before.jobId, owner: before.owner, generation: before.generation };
}

/** The audit has no rows of named leases: the half of the fence that is the resource's is not judged from it. */
function leaseOf(job: JobRecord): NamedLease | undefined {
  if (job.resource === null || job.owner === null || job.resourceGeneration === null) return undefined;
  return {
    name: job.resource,
    owner: job.owner,
    leaseUntilMs: job.leaseUntilMs,
    leaseMs: job.leaseMs,
    generation: job.resourceGeneration,
    heldFor: job.jobId,
    lastOwner: job.owner,
    heals: 0,
  };
}

/** SQLite makes whole ms of a fraction by cutting off, the stores by rounding. */
const ROUNDING_MS = 1;

/** A clock that is set back between statement and trigger shows by a row that is ahead by just that, less what the two took. */
const BETWEEN_MS = 2_000;

/**
 * The time that the statement went by. The trigger reads the clock after the statement did, so the row's own time is
 * nearer; but a time that lies ahead of the trigger's is not the store's.
 */
function nowOf(
  operation: Operation,
  after: JobRecord | undefined,
  storeMs: number,
  stepsMs: readonly number[],
): number {
  if (operation === "promote") return storeMs + ROUNDING_MS;
  const rowMs = rowTimeOf(operation, after) ?? storeMs;
  const aheadMs = rowMs - storeMs;
  const wasSetBack = stepsMs.some((ms) => aheadMs <= ms + ROUNDING_MS && aheadMs > ms - BETWEEN_MS);
  return aheadMs <= ROUNDING_MS || wasSetBack ? rowMs : storeMs;
}

function rowTimeOf(operation: Operation, after: JobRecord | undefined): number | null | undefined {
  if (operation === "claim") return after?.claimedAtMs;
  if (operation === "expire") return after?.finishedAtMs;
  if (operation !== "renew" && operation !== "rebase") return undefined;
  return (after?.leaseUntilMs ?? 0) - (after?.leaseMs ?? 0);
}
