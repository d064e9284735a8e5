/**
 * C2. One statement finds, locks and writes. There are two of them: a plain one, and the whole one for lapsed leases and
 * resources, which is repeated when it had to send jobs away to wait.
 */

import type { Claimed, ClaimedJob, ClaimRequest } from "../store.ts";
import { claimedFromTuple, claimFromTuple } from "./claimed.ts";
import type { Call, Connections } from "./connections.ts";
import type { Asked, Hints } from "./hints.ts";
import { claimWithin, SlotsTaken } from "./limits.ts";
import { HistoryChanged } from "./moment.ts";
import type { OwnSql } from "./statements.ts";
import type { StoreTime } from "./store-time.ts";
import { promote, type Sweep } from "./sweep.ts";

/** How often one claim looks again, after candidates had to be sent to wait for their resource. */
const LOOKS = 5;
/** How many candidates are read at once at least, so that a run of jobs on one busy resource is passed quickly. */
const FEWEST_CANDIDATES = 100;

/** What a store brings to its claims, and keeps between them. */
export interface ClaimMemory {
  readonly sweep: Sweep;
  readonly hints: Hints;
  readonly time: StoreTime;
  /** A sweep beside an earlier claim has changed something. */
  readonly onSwept: () => void;
}

/** @throws {HistoryChanged} nothing was claimed: the floor must be raised first */
export async function claim(
  connections: Connections,
  call: Call,
  request: ClaimRequest,
  memory: ClaimMemory,
): Promise<Claimed> {
  const { sweep } = memory;
  const sql = connections.on(call);
  const jobs: ClaimedJob[] = [];
  const due = sweep.isDue(request.takeover);
  const allowed = memory.hints.knowsLimit(request.queues[0] ?? "")
    ? await claimLimited(connections, call, request, memory, jobs)
    : undefined;
  let dueInMs = due === "now" ? undefined : await lookRepeatedly(sql, request, memory, false, jobs);
  if (due === "now" || (due !== "no" && jobs.length === 0)) {
    const swept = sweep.begin(connections, call, request);
    swept.catch(() => {});
    dueInMs = await lookRepeatedly(sql, request, memory, request.takeover, jobs);
    // Who found jobs does not wait for it: what it finds is told by the next claim.
    const isAwaited = sweep.isAwaited || jobs.length === 0;
    if (!isAwaited) swept.then((changed) => changed && memory.onSwept()).catch(() => {});
    else if ((await swept) && jobs.length < request.limit)
      dueInMs = await lookRepeatedly(sql, request, memory, request.takeover, jobs);
  }
  const allowedInMs = allowed ?? (await claimLimited(connections, call, request, memory, jobs));
  return { jobs, ended: sweep.takeEnded(), nextDueInMs: notPast(earlier(dueInMs, allowedInMs)) };
}

/** How often a claim from a queue with a limit is made anew, when a slot was renewed in the middle of it. */
const TRIES = 3;

/** Adds to `jobs` what the queues with a limit allow; returns when a rate allows more. */
async function claimLimited(
  connections: Connections,
  call: Call,
  request: ClaimRequest,
  memory: ClaimMemory,
  jobs: ClaimedJob[],
): Promise<number | undefined> {
  let nextInMs: number | undefined;
  for (const queue of new Set(request.queues)) {
    if (!memory.hints.knowsLimit(queue)) continue;
    for (let tries = 0; tries < TRIES; tries++) {
      const wanted = Math.min(request.limit, request.places ?? request.limit) - jobs.length;
      if (wanted <= 0) return nextInMs;
      try {
        const claimed = await connections.transaction(call, (sql) =>
          claimWithin(sql, queue, request.owner, wanted, async (limit) => {
            const found: ClaimedJob[] = [];
            const one = { ...request, queues: [queue], limit };
            await lookRepeatedly(sql, one, memory, request.takeover, found, true);
            return found;
          }),
        );
        jobs.push(...claimed.jobs);
        nextInMs = earlier(nextInMs, claimed.allowedInMs);
        break;
      } catch (error) {
        if (error instanceof SlotsTaken) continue;
        if (jobs.length === 0) throw error;
        return nextInMs; // what was claimed before is ours, and must not be lost with this answer
      }
    }
  }
  return nextInMs;
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** Adds to `jobs` what it claims; returns when the next delayed one becomes due. */
async function lookRepeatedly(
  sql: OwnSql,
  request: ClaimRequest,
  { hints, time }: ClaimMemory,
  isSwept: boolean,
  jobs: ClaimedJob[],
  isLimited = false,
): Promise<number | undefined> {
  let queues: readonly string[] = [...new Set(request.queues)];
  let looked: Look = NOTHING;
  for (let look = 0; look < LOOKS && queues.length > 0; look++) {
    const wanted = request.limit - jobs.length;
    const fewest = looked.waits > 0 ? FEWEST_CANDIDATES : wanted;
    const isWhole = isSwept || hints.knowResources(queues);
    const asked = hints.startsOf(queues, isSwept && look === 0);
    try {
      looked = await lookFor(sql, request, asked, time, isWhole, isLimited, wanted, fewest);
    } catch (error) {
      if (jobs.length === 0 || isLimited) throw error;
      break; // what was claimed before is ours, and must not be lost with this answer
    }
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
  return mayBeMore ? 0 : looked.nextDueInMs;
}

function notPast(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.max(0, ms);
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
}

const NOTHING: Look = {
  jobs: [],
  resources: false,
  waits: 0,
  full: [],
  limited: [],
  nextDueInMs: undefined,
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
