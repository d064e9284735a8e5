/**
 * The answers of `claim` and `claim ready`, taken apart by the place of each column: they come by hundreds, and rows as
 * objects with names would cost more than everything else that a worker does for a job.
 */

import type { Previous } from "../../protocol/claim.ts";
import { type Generation, generation, type JobId, type Owner } from "../../protocol/identity.ts";
import { type JobRecord, type SettleOperation, tokenOf } from "../../protocol/job.ts";
import type { Backoff } from "../../protocol/retry.ts";
import type { ClaimedJob } from "../store.ts";

/** What the first row tells of the claim as a whole. */
export interface WholeClaim {
  /** Store time, ms. */
  readonly now: number;
  readonly historyChanged: boolean;
  readonly nextRunAt: number | null;
  /** The plain statement met a job with a resource, and claimed nothing. */
  readonly resources: boolean;
  /** How many candidates had to be sent to wait. */
  readonly waits: number;
  /** Id, name, and how many candidates were found, of each queue that had some. */
  readonly queues: readonly (readonly [number, string, number])[];
}

/** The columns of both statements, in their order. */
type Tuple = readonly [
  jobId: JobId,
  seq: number,
  name: string,
  queue: number,
  priority: number,
  leaseMs: number,
  generation: number,
  attempt: number,
  maxAttempts: number,
  expiredCount: number,
  run: number,
  heals: number,
  resource: string | null,
  resourceGeneration: number | null,
  uniqueKey: string | null,
  maxRunMs: number | null,
  backoff: string | null,
  input: string,
  error: string | null,
  progress: string | null,
  createdAtMs: number,
  settledOwner: Owner | null,
  settledGeneration: number | null,
  settledOperation: SettleOperation | null,
  previousOwner: Owner | null,
  previousGeneration: number | null,
  previousUntilMs: number | null,
];

const INPUT = 17;

export function claimFromTuple(first: readonly unknown[]): WholeClaim {
  const whole = JSON.parse(first[INPUT] as string) as WholeClaim & { queues: WholeClaim["queues"] | null };
  return whole.queues === null ? { ...whole, queues: [] } : whole;
}

export function claimedFromTuple(
  tuple: readonly unknown[],
  owner: Owner,
  nowMs: number,
  queues: ReadonlyMap<number, string>,
): ClaimedJob {
  const row = tuple as Tuple;
  const job: JobRecord & { readonly owner: Owner } = {
    jobId: row[0],
    seq: row[1],
    name: row[2],
    queue: queues.get(row[3]) as string,
    priority: row[4],
    state: "leased",
    runAtMs: null,
    owner,
    leaseUntilMs: nowMs + row[5],
    leaseMs: row[5],
    generation: generation(row[6]),
    raisedBy: "claim",
    attempt: row[7],
    maxAttempts: row[8],
    expiredCount: row[9],
    run: row[10],
    heals: row[11],
    cancelRequested: false,
    resource: row[12],
    resourceGeneration: row[13] as Generation | null,
    uniqueKey: row[14],
    maxRunMs: row[15],
    backoff: row[16] === null ? null : (JSON.parse(row[16]) as Backoff),
    input: row[17],
    result: null,
    error: row[18],
    progress: row[19],
    createdAtMs: row[20],
    claimedAtMs: nowMs,
    finishedAtMs: null,
    endReason: null,
    settled:
      row[21] === null
        ? null
        : { owner: row[21], generation: row[22] as Generation, operation: row[23] as SettleOperation },
  };
  return { job, token: tokenOf(job), previous: previousOf(row, nowMs) };
}

function previousOf(row: Tuple, nowMs: number): Previous | undefined {
  const [owner, before, until] = [row[24], row[25], row[26]];
  if (owner === null) return undefined;
  return { owner, generation: generation(before as number), endedAgoMs: nowMs - (until as number) };
}
