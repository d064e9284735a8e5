/**
 * The invariants that can be judged from rows and records (acceptance list I1 to I23): each stands here once, with its
 * number in its name, and every test tier asks it. A checker answers undefined when the invariant holds, else what
 * broke it.
 */

import type { Admission } from "./destination-rule.ts";
import { epochStart, type FloorState, floorOf } from "./floor.ts";
import type { Fence, FencingToken, Generation, JobId, Line } from "./identity.ts";
import { isEnded, type JobRecord } from "./job.ts";
import type { NamedLease } from "./named-lease.ts";

/**
 * What was done to a job. `expire` is C12, and the end of a lapsed lease with a pending cancel; `promote` makes a delayed
 * job due, whatever the clock says afterwards.
 */
export type Operation =
  | "enqueue"
  | "replace"
  | "claim"
  | "renew"
  | "complete"
  | "fail"
  | "release"
  | "write"
  | "heal"
  | "expire"
  | "rebase"
  | "promote"
  | "cancel"
  | "revoke"
  | "retry"
  | "delete";

/** One change of one row. A refused operation is none. */
export interface Transition {
  readonly operation: Operation;
  readonly before: JobRecord | undefined;
  readonly after: JobRecord | undefined;
  /** The store's time at which it happened. */
  readonly nowMs: number;
  readonly floor: FloorState;
  /** What the owner showed, for the operations of owners. */
  readonly fence?: Fence;
  /** The named lease of the job's resource as it was before, for the same. */
  readonly lease?: NamedLease | undefined;
  /** Heal only. */
  readonly mark?: Generation;
}

type Verdict = string | undefined;

const verdict = (holds: boolean, invariant: string, what: () => string): Verdict =>
  holds ? undefined : `${invariant}: ${what()}`;

const RAISES: readonly Operation[] = ["claim", "expire", "revoke", "retry"];
const ENDS_A_RUN: readonly Operation[] = ["complete", "fail", "release"];

/** I1: no token is granted twice. `grants` are those of claims, in any order. */
export function i1TokenUnique(grants: readonly Pick<FencingToken, "line" | "generation">[]): Verdict {
  const seen = new Set<string>();
  for (const { line, generation } of grants) {
    const token = `${line} ${generation}`;
    if (seen.has(token)) return `I1: ${token} was granted twice`;
    seen.add(token);
  }
  return undefined;
}

/** I2: a raise goes to max(generation, floor) + 1, a heal to the mark; nothing else changes a generation. */
export function i2GenerationSteps({ operation, before, after, floor, mark }: Transition): Verdict {
  if (before === undefined || after === undefined) return undefined;
  const { generation } = before;
  let expected: number = generation;
  if (RAISES.includes(operation)) expected = Math.max(generation, floorOf(floor)) + 1;
  else if (operation === "heal") {
    // With a resource it is the resource's line that was refused, and the job's generation is lifted to the floor only.
    expected = Math.max(generation, floorOf(floor), before.resource === null ? (mark ?? 0) : 0);
  }
  const holds = after.generation === expected && after.generation >= generation;
  return verdict(
    holds,
    "I2",
    () => `${operation} took generation ${generation} to ${after.generation}, not ${expected}`,
  );
}

/** I3: a claim takes what is ready and due, or a lease that has expired, and for one lease at most; C12 likewise. */
export function i3LegalClaim({ operation, before, after, nowMs }: Transition): Verdict {
  if (operation !== "claim" && operation !== "expire" && operation !== "promote") return undefined;
  const was = (): string => `${before?.state}, due ${before?.runAtMs}, leased until ${before?.leaseUntilMs}`;
  const lapsed = before !== undefined && before.state === "leased" && expired(before, nowMs);
  const ready = before !== undefined && due(before, nowMs);
  if (operation === "expire") {
    return verdict(lapsed, "I3", () => `at ${nowMs} a lease was ended as expired that is ${was()}`);
  }
  if (operation === "promote") {
    const isDue = before !== undefined && (before.runAtMs ?? nowMs) <= nowMs;
    return verdict(isDue, "I3", () => `at ${nowMs} a job was made due that is ${was()}`);
  }
  if (!ready && !lapsed) return `I3: at ${nowMs} a job was claimed that is ${was()}`;
  const untilMs = after?.leaseUntilMs ?? 0;
  const longest = nowMs + (after?.leaseMs ?? 0);
  return verdict(untilMs <= longest, "I3", () => `at ${nowMs} a job was claimed until ${untilMs}`);
}

/** I4: a renewal is its owner's, never shortens the lease but by T5, and reaches one lease from now at most. */
export function i4LegalRenewal(transition: Transition): Verdict {
  const { operation, before, after, nowMs } = transition;
  if (operation === "rebase") return rebasedInVain(transition);
  if (operation !== "renew") return undefined;
  if (before === undefined || after === undefined || !isOwners(transition)) return "I4: a stranger renewed";
  const untilMs = after.leaseUntilMs ?? 0;
  const beforeMs = before.leaseUntilMs ?? 0;
  const oneLeaseMs = nowMs + before.leaseMs;
  const legal = fromFuture(before, nowMs)
    ? untilMs === oneLeaseMs
    : untilMs === Math.max(beforeMs, oneLeaseMs);
  return verdict(legal, "I4", () => `at ${nowMs} a lease until ${beforeMs} was renewed until ${untilMs}`);
}

/** T5: whoever meets a lease that starts in the future shortens it, and no other. */
function rebasedInVain({ before, after, nowMs }: Transition): Verdict {
  const wasMs = before?.leaseUntilMs ?? 0;
  const untilMs = after?.leaseUntilMs ?? wasMs;
  const legal = untilMs === wasMs || (before !== undefined && fromFuture(before, nowMs));
  return verdict(legal, "I4", () => `at ${nowMs} a lease until ${wasMs} was re-based to ${untilMs}`);
}

/** I5: only the current owner ends a run, and only with a generation from after the last loss. */
export function i5LegalEnd(transition: Transition): Verdict {
  const { operation, before, fence, floor } = transition;
  if (!ENDS_A_RUN.includes(operation)) return undefined;
  const legal = isOwners(transition) && (before?.generation ?? 0) > epochStart(floor);
  return verdict(
    legal,
    "I5",
    () => `${operation} by generation ${fence?.generation}, of a job that is ${before?.state}`,
  );
}

/** Whether the fence is the job's, and the resource's lease, if the job has one, the run's. */
function isOwners({ before: job, fence, lease }: Transition): boolean {
  if (job?.state !== "leased" || job.owner !== fence?.owner || job.generation !== fence.generation)
    return false;
  return job.resource === null || (lease?.owner === job.owner && lease.generation === job.resourceGeneration);
}

/** I6: after its end a job changes only by an operator's retry, which raises it, or by being deleted. */
export function i6TerminalIsFinal({ operation, before, after }: Transition): Verdict {
  if (before === undefined || !isEnded(before)) return undefined;
  const legal =
    operation === "delete" || (operation === "retry" && (after?.generation ?? 0) > before.generation);
  return verdict(legal, "I6", () => `${operation} changed a job that had ended as ${before.state}`);
}

/**
 * I19: a job that was asked to stop is never made ready again nor claimed, and the request goes with the run only, so that
 * the answer to the cancel comes true.
 */
export function i19CancelAgrees({ operation, before, after }: Transition): Verdict {
  if (before?.state !== "leased" || !before.cancelRequested || after === undefined) return undefined;
  const forgotten = after.state === "ready" || operation === "claim";
  if (forgotten) return `I19: ${operation} made a job ready that was to be cancelled`;
  const isDropped = after.state === "leased" && !after.cancelRequested;
  return verdict(!isDropped, "I19", () => `${operation} dropped the request to cancel`);
}

// Written out once more: a checker that shared these with the core could never find them wrong.

function due(job: JobRecord, nowMs: number): boolean {
  return job.state === "ready" && job.blockedBy === 0 && (job.runAtMs ?? nowMs) <= nowMs;
}

function expired(job: JobRecord, nowMs: number): boolean {
  return (job.leaseUntilMs ?? Number.POSITIVE_INFINITY) <= nowMs;
}

function fromFuture(job: JobRecord, nowMs: number): boolean {
  return (job.leaseUntilMs ?? 0) - job.leaseMs > nowMs + Math.max(job.leaseMs / 10, 50);
}

const OF_A_CHANGE = [
  i2GenerationSteps,
  i3LegalClaim,
  i4LegalRenewal,
  i5LegalEnd,
  i6TerminalIsFinal,
  i19CancelAgrees,
];

/** Every invariant of a single change (I2 to I6, I19), and what broke. */
export function brokenBy(transition: Transition): string[] {
  const broken: string[] = [];
  for (const check of OF_A_CHANGE) {
    const verdict = check(transition);
    if (verdict !== undefined) broken.push(verdict);
  }
  return broken;
}

/** What a destination decided about an effect, in its own order. */
export interface Decision {
  readonly token: FencingToken;
  readonly admitted: Admission["admitted"];
}

/** I7: on each line the admitted tokens never fall, and no generation is admitted for two owners (D2). */
export function i7FenceMonotone(decisions: readonly Decision[]): Verdict {
  const marks = new Map<Line, FencingToken>();
  for (const { token, admitted } of decisions) {
    if (!admitted) continue;
    const mark = marks.get(token.line);
    if (mark !== undefined && token.generation < mark.generation) {
      return `I7: ${token.line}: ${token.generation} was admitted after ${mark.generation}`;
    }
    if (mark !== undefined && token.generation === mark.generation && token.owner !== mark.owner) {
      return `I7: ${token.line}: two owners were admitted with ${token.generation}`;
    }
    marks.set(token.line, token);
  }
  return undefined;
}

/** How a destination answered one effect, in its own order. */
export interface Answered {
  /** What was asked for: (job, run, step), whatever key it was sent under. */
  readonly effect: string;
  readonly outcome: "applied" | "duplicate" | "stale";
  readonly answer: string;
}

/** I8: each effect is applied once, and what repeats it gets the first one's answer. */
export function i8AppliedOnce(answered: readonly Answered[]): Verdict {
  const answers = new Map<string, string>();
  for (const { effect, outcome, answer } of answered) {
    if (outcome === "stale") continue;
    const first = answers.get(effect);
    if (outcome === "applied" && first !== undefined) return `I8: ${effect} took effect twice`;
    if (outcome === "duplicate" && first !== answer)
      return `I8: ${effect} was answered otherwise than at first`;
    answers.set(effect, answer);
  }
  return undefined;
}

/** I9: a destination sees no token but those of a grant or a revoke. */
export function i9NoForeignToken(decisions: readonly Decision[], granted: readonly FencingToken[]): Verdict {
  const known = new Set(granted.map(({ line, generation, owner }) => `${line} ${generation} ${owner}`));
  const foreign = decisions.find(
    ({ token: { line, generation, owner } }) => !known.has(`${line} ${generation} ${owner}`),
  );
  return verdict(
    foreign === undefined,
    "I9",
    () => `${foreign?.token.line} ${foreign?.token.generation} was never granted`,
  );
}

/** I14: `boundMs` after the last fault no lease lies in the past and no due job waits. */
export function i14NothingStuck(jobs: readonly JobRecord[], nowMs: number, boundMs: number): Verdict {
  const stuck = jobs.find(
    (job) =>
      expired(job, nowMs) ||
      (due(job, nowMs) && nowMs - Math.max(job.runAtMs ?? 0, job.createdAtMs) > boundMs),
  );
  return verdict(stuck === undefined, "I14", () => `job ${stuck?.jobId} is ${stuck?.state} still`);
}

/** I14 for blocked jobs: each is `ready`, nobody's, and waits for a job that is there (`waitsFor`) and can let it go. */
export function i14NobodyStranded(
  jobs: readonly JobRecord[],
  waitsFor: (id: JobId) => readonly (JobRecord | undefined)[],
): Verdict {
  for (const job of jobs) {
    if (job.blockedBy === 0) continue;
    if (job.state !== "ready" || job.owner !== null)
      return `I14: job ${job.jobId} is blocked and ${job.state}`;
    const lets = (other: JobRecord | undefined): boolean =>
      other !== undefined && other.state !== "completed";
    if (!waitsFor(job.jobId).some(lets)) return `I14: job ${job.jobId} waits for nobody that could let it go`;
  }
  return undefined;
}

/**
 * I15: each claim takes an attempt, whatever became of the one before; and a job starts no oftener than its attempts allow, plus
 * what was given back (by a release, a revoke or a heal), and anew after a retry.
 */
export function i15AttemptsBounded(history: readonly Transition[]): Verdict {
  const budgets = new Map<JobId, number>();
  for (const { operation, before, after } of history) {
    if (after === undefined) continue;
    const left = budgets.get(after.jobId) ?? after.maxAttempts;
    if (operation === "claim" && before !== undefined && after.attempt !== before.attempt + 1)
      return `I15: the claim of job ${after.jobId} took its attempts from ${before.attempt} to ${after.attempt}`;
    if (operation === "claim" && left <= 0)
      return `I15: job ${after.jobId} started more often than ${after.maxAttempts} times`;
    if (operation === "claim") budgets.set(after.jobId, left - 1);
    else if (operation === "retry") budgets.set(after.jobId, after.maxAttempts);
    else if (before !== undefined && after.attempt < before.attempt) budgets.set(after.jobId, left + 1);
  }
  return undefined;
}

/** I5's second half: between two retries a job ends once. */
export function i5EndsOnce(history: readonly Transition[]): Verdict {
  const ended = new Set<JobId>();
  for (const { operation, before, after } of history) {
    if (after === undefined) continue;
    if (operation === "retry") ended.delete(after.jobId);
    else if (isEnded(after) && (before === undefined || !isEnded(before))) {
      if (ended.has(after.jobId)) return `I5: job ${after.jobId} ended twice`;
      ended.add(after.jobId);
    }
  }
  return undefined;
}

/** I19 over a job's whole past: once it was asked to stop no run of it begins, unless an operator retries it. */
export function i19NoStartAfterCancel(history: readonly Transition[]): Verdict {
  const cancelled = new Set<JobId>();
  for (const { operation, after } of history) {
    if (after === undefined) continue;
    if (operation === "cancel" && after.cancelRequested) cancelled.add(after.jobId);
    else if (operation === "retry") cancelled.delete(after.jobId);
    else if (operation === "claim" && cancelled.has(after.jobId))
      return `I19: job ${after.jobId} was claimed after it was cancelled`;
  }
  return undefined;
}

/** I23: once a job has ended, its own line admits no token above the one that ended it. */
export function i23EndIsTheEnd(
  ended: Pick<FencingToken, "line" | "generation">,
  later: readonly Decision[],
): Verdict {
  const after = later.find(
    ({ token, admitted }) => admitted && token.line === ended.line && token.generation > ended.generation,
  );
  return verdict(
    after === undefined,
    "I23",
    () => `${ended.line}: ${after?.token.generation} came after the end`,
  );
}
