/**
 * What one claim finds. There are two statements: a plain one, and the whole one for lapsed leases and resources, which is
 * repeated when it had to send jobs away to wait.
 */

import { sooner } from "../../protocol/limit.ts";
import type { ClaimedJob, ClaimRequest } from "../store.ts";
import { claimedFromTuple, claimFromTuple } from "./claimed.ts";
import type { Asked, Hints } from "./hints.ts";
import { HistoryChanged } from "./moment.ts";
import type { OwnSql } from "./statements.ts";
import type { StoreTime } from "./store-time.ts";
import { promote } from "./sweep.ts";

/** How often one claim looks again, after candidates had to be sent to wait for their resource. */
const LOOKS = 5;
/** How many candidates are read at once at least, so that a run of jobs on one busy resource is passed quickly. */
const FEWEST_CANDIDATES = 100;

/** What a store keeps from look to look. */
export interface LookMemory {
  readonly hints: Hints;
  readonly time: StoreTime;
}

/** Whether lapsed leases are taken over, and if so where in the line a look for them begins. */
export type Reach = "ready" | "lapsed behind the hint" | "lapsed";

/**
 * Adds to `jobs` what it claims; returns when the next delayed one becomes due.
 *
 * @param isLimited asks for queues with a limit, and for no others; in a transaction, which an error has ended
 */
export async function lookRepeatedly(
  sql: OwnSql,
  request: ClaimRequest,
  { hints, time }: LookMemory,
  reach: Reach,
  jobs: ClaimedJob[],
  isLimited = false,
): Promise<number | undefined> {
  if (jobs.length > 0 && jobs.length >= request.limit) return undefined;
  let queues: readonly string[] = [...new Set(request.queues)];
  let looked: Look = NOTHING;
  let nextWalkInMs: number | undefined;
  for (let look = 0; look < LOOKS && queues.length > 0; look++) {
    const wanted = request.limit - jobs.length;
    const fewest = looked.waits > 0 ? FEWEST_CANDIDATES : wanted;
    const isWhole = reach !== "ready" || hints.knowResources(queues);
    const { asked, isWalk, walkInMs } = hints.startsOf(queues, reach === "lapsed" && look === 0);
    nextWalkInMs = walkInMs;
    try {
      looked = await lookFor(sql, request, asked, time, isWhole, isLimited, wanted, fewest);
    } catch (error) {
      if (jobs.length === 0 || isLimited) throw error;
      break; // what was claimed before is ours, and must not be lost with this answer
    }
    hints.noteLook(isWalk, looked.tookMs);
    jobs.push(...looked.jobs);
    hints.note(looked.jobs.map(({ job }) => job));
    if (!isLimited) hints.noteLimits(queues, looked.limited);
    if (looked.resources) {
      hints.noteResources(queues);
      continue;
    }
    if (jobs.length >= request.limit) break;
    const isNowDue = looked.nextDueInMs !== undefined && looked.nextDueInMs <= 0;
    if (isNowDue && (await promote(sql).catch(() => 0)) > 0) continue;
    // What one queue does not use goes to the others.
    if (looked.waits === 0) queues = queues.length > 1 ? looked.full : [];
  }
  const mayBeMore = looked.waits > 0 && jobs.length < request.limit;
  return mayBeMore ? 0 : sooner(looked.nextDueInMs, nextWalkInMs);
}

interface Look {
  readonly jobs: readonly ClaimedJob[];
  /** The plain statement met a job with a resource, and claimed nothing. */
  readonly resources: boolean;
  /** How many candidates had to be sent to wait. */
  readonly waits: number;
  /** The queues that used up their share, and may have more. */
  readonly full: readonly string[];
  /** The queues that have a limit, and were passed over. */
  readonly limited: readonly string[];
  readonly nextDueInMs: number | undefined;
  readonly tookMs: number;
}

const NOTHING: Look = {
  jobs: [],
  resources: false,
  waits: 0,
  full: [],
  limited: [],
  nextDueInMs: undefined,
  tookMs: 0,
};

async function lookFor(
  sql: OwnSql,
  { owner, takeover }: ClaimRequest,
  queues: readonly Asked[],
  time: StoreTime,
  isWhole: boolean,
  isLimited: boolean,
  wanted: number,
  fewest: number,
): Promise<Look> {
  const candidates = Math.max(wanted, fewest);
  const shares = sharesOf(candidates, queues.length);
  const asked = [
    owner,
    queues.map(({ queue }) => queue),
    shares,
    queues.map(({ priority }) => priority),
    queues.map(({ seq }) => seq),
    isLimited,
  ];
  const [first, ...tuples] = isWhole
    ? await sql.tuples("claim", [...asked, takeover, candidates, wanted, time.estimateMs])
    : await sql.tuples("claim ready", [...asked, wanted]);
  const whole = claimFromTuple(first ?? []);
  time.told(whole.now);
  if (whole.historyChanged) throw new HistoryChanged();
  const names = new Map(whole.queues.map(([id, name]) => [id, name]));
  const found = new Map(whole.queues.map(([, name, count]) => [name, count]));
  const jobs = tuples.map((tuple) => claimedFromTuple(tuple, owner, whole.now, names));
  return {
    jobs: inOrder(jobs, queues),
    resources: whole.resources,
    waits: whole.waits,
    limited: whole.limited ?? [],
    tookMs: whole.tookMs,
    full: queues.flatMap(({ queue }, n) => (found.get(queue) === shares[n] ? [queue] : [])),
    nextDueInMs: whole.nextRunAt === null ? undefined : whole.nextRunAt - whole.now,
  };
}

/** C15: the turn of the queue, then the order within it. */
function inOrder(jobs: ClaimedJob[], queues: readonly Asked[]): ClaimedJob[] {
  const turns = new Map(queues.map(({ queue }, turn) => [queue, turn]));
  const turnOf = ({ job }: ClaimedJob): number => turns.get(job.queue) ?? 0;
  const byTurn = queues.length > 1;
  return jobs.sort(
    (one, other) =>
      (byTurn ? turnOf(one) - turnOf(other) : 0) ||
      one.job.priority - other.job.priority ||
      one.job.seq - other.job.seq,
  );
}

/** An even share of what is left for each queue in its turn, and one at least: the limit of all is kept beside. */
function sharesOf(limit: number, queues: number): number[] {
  const shares: number[] = [];
  let left = limit;
  for (let n = 0; n < queues; n++) {
    const share = Math.max(1, Math.ceil(left / (queues - n)));
    shares.push(share);
    left -= share;
  }
  return shares;
}
