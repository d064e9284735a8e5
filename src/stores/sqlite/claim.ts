/** C2. The write lock is held from the look at the candidates to their claim, so nobody else can claim them. */

import { type Claim, type ClaimTerms, claim as claimInCore } from "../../protocol/claim.ts";
import { jobLine, type Owner } from "../../protocol/identity.ts";
import { type JobRecord, tokenOf } from "../../protocol/job.ts";
import { sooner } from "../../protocol/limit.ts";
import { claimNote, lapseNote } from "../run-notes.ts";
import type { ClaimedJob, ClaimRequest } from "../store.ts";
import { findCandidates } from "./candidates.ts";
import { note } from "./journal.ts";
import { LimitedQueue } from "./limits.ts";
import type { Moment } from "./moment.ts";
import type { Statements } from "./statements.ts";
import { freeWaiting, type Sweep } from "./sweep.ts";
import { findLease, saveLease } from "./transition.ts";

/** How many delayed or lapsed rows one claim moves at the most; the next claim goes on. */
const ROWS_A_SWEEP = 1_000;
/** How often one claim looks again, after candidates had to be sent to wait for their resource. */
const LOOKS = 5;
/** How many candidates are read at once at least, so that a run of jobs on one busy resource is passed quickly. */
const FEWEST_CANDIDATES = 100;

export interface Look {
  /** Whether a claim may find or change anything. */
  readonly some: boolean;
  readonly sweep: boolean;
  readonly nextDueInMs: number | undefined;
}

/** What an idle worker does instead of a claim: it looks, without a transaction. */
export function lookFor(statements: Statements, request: ClaimRequest, sweep: Sweep): Look {
  const row = statements.get<{ some: number; next_run_at: number | null; now: number }>("look", {
    queues: JSON.stringify(request.queues),
  });
  const untilMs = row?.next_run_at == null ? undefined : row.next_run_at - row.now;
  const isDue = untilMs !== undefined && untilMs <= 0;
  const sweeps = request.takeover && sweep.isDue(statements);
  return {
    some: request.limit > 0 && (row?.some === 1 || isDue || sweeps),
    sweep: sweeps,
    nextDueInMs: isDue ? undefined : untilMs,
  };
}

export interface ClaimedBatch {
  readonly jobs: readonly ClaimedJob[];
  /** So many jobs had to be sent to wait for their resource that there may be free ones behind them. */
  readonly isCutShort: boolean;
  /** A queue's rate allows the next job in so many ms. */
  readonly allowedInMs: number | undefined;
}

const NONE: ClaimedBatch = { jobs: [], isCutShort: false, allowedInMs: undefined };

export function claim(statements: Statements, request: ClaimRequest, moment: Moment): ClaimedBatch {
  promoteDue(statements, request, moment.nowMs);
  const jobs: ClaimedJob[] = [];
  let isCutShort = false;
  let allowedInMs: number | undefined;
  const take = (queue: string, limit: number): void => {
    const claimed = claimFrom(statements, queue, limit, jobs.length, request, moment);
    jobs.push(...claimed.jobs);
    isCutShort ||= claimed.isCutShort;
    allowedInMs = sooner(allowedInMs, claimed.allowedInMs);
  };
  let left = request.queues.length;
  for (const queue of request.queues) {
    // Each queue gets an even share of what is left; the claimer begins with another one each time (C15).
    const share = Math.ceil((request.limit - jobs.length) / left--);
    if (share > 0) take(queue, share);
  }
  for (const queue of request.queues) {
    if (request.queues.length === 1 || jobs.length >= request.limit) break;
    take(queue, request.limit - jobs.length);
  }
  return { jobs, isCutShort: isCutShort && jobs.length < request.limit, allowedInMs };
}

function promoteDue(statements: Statements, { queues }: ClaimRequest, nowMs: number): void {
  const promoted = statements.all<{ resource: string | null }>("promote due", {
    now: nowMs,
    limit: ROWS_A_SWEEP,
  });
  const resources = new Set(promoted.map(({ resource }) => resource));
  for (const resource of resources) if (resource !== null) freeWaiting(statements, resource, queues, nowMs);
}

function claimFrom(
  statements: Statements,
  queueName: string,
  limit: number,
  claimed: number,
  request: ClaimRequest,
  moment: Moment,
): ClaimedBatch {
  const queue = statements.get<{ id: number; paused: number; limited: number }>("find queue", {
    name: queueName,
  });
  if (queue === undefined || queue.paused === 1) return NONE;
  if (queue.limited === 0) return claimReady(statements, queue.id, queueName, limit, request, moment);
  const limited = new LimitedQueue(statements, queue.id, queueName, moment);
  const places = Math.max(0, (request.places ?? request.limit) - claimed);
  const { jobs: allowed, nextInMs } = limited.allows(Math.min(limit, places));
  if (allowed === 0) return { ...NONE, allowedInMs: nextInMs };
  const { jobs, isCutShort } = claimReady(statements, queue.id, queueName, allowed, request, moment);
  return { jobs: limited.useUp(jobs, request.owner), isCutShort, allowedInMs: nextInMs };
}

function claimReady(
  statements: Statements,
  queue: number,
  queueName: string,
  limit: number,
  request: ClaimRequest,
  moment: Moment,
): ClaimedBatch {
  const jobs: ClaimedJob[] = [];
  for (let look = 0; look < LOOKS; look++) {
    const wanted = limit - jobs.length;
    const asked = look === 0 ? wanted : Math.max(wanted, FEWEST_CANDIDATES);
    const candidates = findCandidates(statements, queue, queueName, request.takeover, moment, asked);
    const claims = choose(statements, candidates, wanted, { ...request, ...moment });
    jobs.push(...take(statements, claims, request.owner, moment));
    if (candidates.length < asked || jobs.length === limit) return { ...NONE, jobs };
  }
  return { ...NONE, jobs, isCutShort: true };
}

/** The first `wanted` whose resource is free. Each one's lease is taken on the way, so that the next job of it waits. */
function choose(
  statements: Statements,
  candidates: readonly JobRecord[],
  wanted: number,
  terms: ClaimTerms,
): Chosen[] {
  const chosen: Chosen[] = [];
  for (const before of candidates) {
    if (chosen.length === wanted) break;
    const claimed = claimInCore(before, findLease(statements, before.resource), terms);
    if (claimed === undefined) {
      statements.run("wait for resource", { seq: before.seq });
      continue;
    }
    if (claimed.lease !== undefined) {
      saveLease(statements, claimed.lease, { claimedAtMs: terms.nowMs, releasedAtMs: null });
    }
    chosen.push({ before, claimed });
  }
  return chosen;
}

interface Chosen {
  readonly before: JobRecord;
  readonly claimed: Claim;
}

/** Writes in one statement what the core decided for each. */
function take(statements: Statements, chosen: readonly Chosen[], owner: Owner, moment: Moment): ClaimedJob[] {
  if (chosen.length === 0) return [];
  const seqs = JSON.stringify(chosen.map(({ before }) => before.seq));
  const { nowMs, floor } = moment;
  if (statements.run("claim", { seqs, owner, now: nowMs, floor }) !== chosen.length) {
    throw new Error("A candidate changed while the write lock was held");
  }
  return chosen.map(({ before, claimed: { job, previous } }) => {
    if (job.resourceGeneration !== null) {
      statements.run("hold resource for", { seq: job.seq, generation: job.resourceGeneration });
    }
    if (previous !== undefined)
      note(statements, jobLine(job.jobId), [...claimNote(before), ...lapseNote(before)]);
    return { job, token: tokenOf(job), previous };
  });
}
