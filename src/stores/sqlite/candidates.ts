import { type Generation, generation, type JobId, type Owner } from "../../protocol/identity.ts";
import type { JobRecord, RaisedBy, SettleOperation } from "../../protocol/job.ts";
import type { Backoff } from "../../protocol/retry.ts";
import type { Moment } from "./moment.ts";
import type { Statements } from "./statements.ts";

/** What most waiting jobs have nothing in. */
type Rare = readonly [
  owner: Owner | null,
  leaseUntil: number | null,
  claimedAt: number | null,
  heals: number,
  resource: string | null,
  uniqueKey: string | null,
  maxRunMs: number | null,
  backoff: string | null,
  error: string | null,
  progress: string | null,
  settledOwner: Owner | null,
  settledGeneration: Generation | null,
  settledOperation: SettleOperation | null,
  raisedBy: RaisedBy | null,
];

const NOTHING: Rare = [null, null, null, 0, null, null, null, null, null, null, null, null, null, null];

type Found = readonly [
  seq: number,
  jobId: JobId,
  name: string,
  priority: number,
  leaseMs: number,
  generation: number,
  attempt: number,
  maxAttempts: number,
  expiredCount: number,
  run: number,
  createdAt: number,
  input: string,
  rare: Rare | null,
];

/** What may be claimed from a queue, in order, as the core knows it. */
export function findCandidates(
  statements: Statements,
  queue: number,
  queueName: string,
  takeover: boolean,
  moment: Moment,
  limit: number,
): JobRecord[] {
  const row = statements.get<{ found: string }>("candidates", {
    queue,
    takeover: takeover ? 1 : 0,
    now: moment.nowMs,
    limit,
  });
  return (JSON.parse(row?.found ?? "[]") as Found[]).map((found) => toRecord(found, queueName));
}

function toRecord(found: Found, queue: string): JobRecord {
  const [
    seq,
    jobId,
    name,
    priority,
    leaseMs,
    raised,
    attempt,
    maxAttempts,
    expiredCount,
    run,
    createdAtMs,
    input,
    rare,
  ] = found;
  const [
    owner,
    leaseUntilMs,
    claimedAtMs,
    heals,
    resource,
    uniqueKey,
    maxRunMs,
    backoff,
    error,
    progress,
    ...last
  ] = rare ?? NOTHING;
  const [settledOwner, settledGeneration, settledOperation, raisedBy] = last;
  return {
    jobId,
    seq,
    name,
    queue,
    priority,
    state: owner === null ? "ready" : "leased",
    runAtMs: null,
    owner,
    leaseUntilMs,
    leaseMs,
    generation: generation(raised),
    raisedBy,
    attempt,
    maxAttempts,
    expiredCount,
    run,
    heals,
    cancelRequested: false,
    resource,
    resourceGeneration: null,
    uniqueKey,
    blockedBy: 0,
    maxRunMs,
    backoff: backoff === null ? null : (JSON.parse(backoff) as Backoff),
    input,
    result: null,
    error,
    progress,
    createdAtMs,
    claimedAtMs,
    finishedAtMs: null,
    endReason: null,
    settled:
      settledOwner === null || settledGeneration === null || settledOperation === null
        ? null
        : { owner: settledOwner, generation: settledGeneration, operation: settledOperation },
  };
}
