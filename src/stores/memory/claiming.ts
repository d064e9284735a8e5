/** C2, C12, C15: one claim over all that is live. */

import { claim, endLapsed, isDue, lapse, type Previous, rebased } from "../../protocol/claim.ts";
import { jobLine, leaseLine } from "../../protocol/identity.ts";
import { isExpired, type JobRecord, tokenOf } from "../../protocol/job.ts";
import { sooner } from "../../protocol/limit.ts";
import { type NamedLease, rebasedLease, releasedLease } from "../../protocol/named-lease.ts";
import type { Claimed, ClaimedJob, ClaimRequest } from "../store.ts";
import { noteJob, noteLapse, noteLease } from "./journal.ts";
import { allowanceOf, useUp } from "./limits.ts";
import { floorAt, leaseOf, type Moment, putJob, putLease } from "./state.ts";

/** How many jobs without a future one claim ends at most; the next goes on (C12). */
const MOST_ENDED = 100;

export function claimJobs(at: Moment, request: ClaimRequest): Claimed {
  const queues = new Set(request.queues);
  for (const queue of at.state.paused) queues.delete(queue);
  const ended = request.takeover ? takeStock(at, liveJobs(at, queues)) : [];

  // Taking turns: one job from each queue that has one, until the limit is reached or nobody has any.
  const jobs: ClaimedJob[] = [];
  const lines = linesOf(queues, liveJobs(at, queues));
  const places = request.places ?? request.limit;
  let allowedInMs: number | undefined;
  for (let found = true; found && jobs.length < request.limit; ) {
    found = false;
    for (const line of lines) {
      if (jobs.length >= request.limit) break;
      const queue = line[0]?.queue;
      if (queue === undefined) continue;
      const allowed = allowanceOf(at, queue, jobs.length < places ? 1 : 0);
      if (allowed?.jobs === 0) {
        allowedInMs = sooner(allowedInMs, allowed.nextInMs);
        continue;
      }
      const taken = takeFirst(at, line, request);
      if (taken === undefined) continue;
      jobs.push(taken);
      found = true;
    }
  }
  return { jobs, ended, nextDueInMs: sooner(nextDueInMs(at, queues), allowedInMs) };
}

function liveJobs({ state }: Moment, queues: ReadonlySet<string>): JobRecord[] {
  const jobs: JobRecord[] = [];
  for (const job of state.jobs.values()) {
    if ((job.state === "ready" || job.state === "leased") && queues.has(job.queue)) jobs.push(job);
  }
  return jobs;
}

/** The jobs of each queue, first come those that are claimed first. */
function linesOf(queues: ReadonlySet<string>, live: readonly JobRecord[]): JobRecord[][] {
  const lines = new Map<string, JobRecord[]>();
  for (const queue of queues) lines.set(queue, []);
  for (const job of live) lines.get(job.queue)?.push(job);
  for (const line of lines.values()) line.sort((a, b) => a.priority - b.priority || a.seq - b.seq);
  return [...lines.values()];
}

/** T5: whoever meets a lease that starts in the future brings it back. */
function rebaseLeases(at: Moment, live: readonly JobRecord[]): void {
  for (const job of live) {
    const corrected = rebased(job, at.nowMs);
    if (corrected !== job) putJob(at, corrected);
    const lease = leaseOf(at, job);
    const correctedLease = lease === undefined ? undefined : rebasedLease(lease, at.nowMs);
    if (correctedLease !== undefined && correctedLease !== lease) putLease(at, correctedLease);
  }
}

/** What a claim does first about leases that are not in order; it returns the jobs that it ended. */
function takeStock(at: Moment, live: readonly JobRecord[]): JobRecord[] {
  rebaseLeases(at, live);
  const doomed = live.filter((job) => lapse(job, at.nowMs) === "end").slice(0, MOST_ENDED);
  return doomed.map((job) => {
    const ended = endLapsed(job, at.nowMs, floorAt(at));
    putJob(at, ended);
    noteLapse(at, jobLine(job.jobId), job);
    noteJob(at, ended, ended.state === "cancelled" ? "cancelled" : "expired");
    const lease = leaseOf(at, job);
    if (lease !== undefined && lease.heldFor === job.jobId && lease.generation === job.resourceGeneration) {
      putLease(at, releasedLease(lease));
      noteLapse(at, leaseLine(lease.name), lease);
    }
    return ended;
  });
}

/** Claims the first job of `line` that may be claimed, and takes out all that were looked at. */
function takeFirst(at: Moment, line: JobRecord[], request: ClaimRequest): ClaimedJob | undefined {
  const { owner, takeover } = request;
  for (let job = line.shift(); job !== undefined; job = line.shift()) {
    const lease = leaseOf(at, job);
    const claimed =
      lapse(job, at.nowMs) === "end"
        ? undefined
        : claim(job, lease, { owner, takeover, nowMs: at.nowMs, floor: floorAt(at) });
    if (claimed === undefined) continue;
    putJob(at, claimed.job);
    noteClaim(at, job, claimed.job, claimed.previous);
    if (claimed.lease !== undefined) {
      putLease(at, claimed.lease);
      noteAcquisition(at, lease, claimed.lease);
    }
    const slot = useUp(at, job.queue, owner, job.leaseMs);
    const { previous } = claimed;
    return {
      job: claimed.job,
      token: tokenOf(claimed.job),
      previous,
      ...(slot === undefined ? {} : { slot }),
    };
  }
  return undefined;
}

function noteClaim(at: Moment, before: JobRecord, after: JobRecord, previous: Previous | undefined): void {
  if (previous !== undefined) noteLapse(at, jobLine(before.jobId), before);
  noteJob(at, after, "claimed", after);
}

/** Also for leases that are acquired by name. */
export function noteAcquisition(at: Moment, before: NamedLease | undefined, after: NamedLease): void {
  if (before !== undefined && isExpired(before, at.nowMs)) noteLapse(at, leaseLine(before.name), before);
  noteLease(at, after, "claimed", after.owner);
}

function nextDueInMs(at: Moment, queues: ReadonlySet<string>): number | undefined {
  let next: number | undefined;
  for (const job of at.state.jobs.values()) {
    if (job.state !== "ready" || !queues.has(job.queue)) continue;
    if (job.blockedBy > 0 || job.runAtMs === null || isDue(job, at.nowMs)) continue;
    next = Math.min(next ?? Number.POSITIVE_INFINITY, job.runAtMs - at.nowMs);
  }
  return next;
}
