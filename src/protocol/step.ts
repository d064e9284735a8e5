/**
 * Records of a run's steps: what C18 calls finished and what D4's key names. They are written for a run, so under the same
 * condition as everything else that it writes (C8's last sentence), which the caller has asked before.
 */

import { InvalidArgumentError } from "../errors.ts";
import { effectScope, type Fence, type Generation, type JobId, type Owner } from "./identity.ts";
import { isEnded, type JobRecord } from "./job.ts";
import type { Already } from "./outcome.ts";

/**
 * `begun`: it may have happened, in part or as a whole, unless the run that began it is still at it. `failed`: its function
 * threw, and so said that it had not been done. `done` is final for this run number.
 */
export type StepState = "begun" | "failed" | "done";

export interface StepRecord {
  readonly step: string;
  /** The job's run number that it belongs to: a retry with `again` begins without any. */
  readonly run: number;
  readonly state: StepState;
  /** Whose write made it what it is; null for an operator's. */
  readonly owner: Owner | null;
  readonly generation: Generation;
  readonly attempt: number;
  /** Store time; null for a step that may be repeated, of which no beginning is written. */
  readonly begunAtMs: number | null;
  readonly endedAtMs: number | null;
  /** JSON text of what a done step returned; null for nothing. */
  readonly result: string | null;
  /** JSON text of what a failed step threw. */
  readonly error: string | null;
}

export type StepChange =
  /** `after`: the generation of the record that the caller has seen and begins anew; null when it has seen none. */
  | { readonly state: "begun"; readonly after: Generation | null }
  | { readonly state: "done"; readonly result: string | null }
  | { readonly state: "failed"; readonly error: string };

export interface StepWrite {
  readonly fence: Fence;
  readonly step: string;
  readonly change: StepChange;
}

/** There is a record that the caller has not known of; nothing was written. */
export interface StepConflict {
  readonly outcome: "conflict";
  readonly step: StepRecord;
}

/** What an operator has found out about a step. */
export type StepResolution =
  | { readonly done: true; readonly result: string | null }
  | { readonly done: false };

export type StepResolved =
  | { readonly outcome: "applied" }
  | { readonly outcome: "conflict"; readonly why: string }
  /** No such job, or no such step of its present run. */
  | { readonly outcome: "gone" };

/** More of one run are refused: they are removed with the job, and read at once by its next attempt. */
export const MAX_STEPS = 1_000;
/** How many steps one pruning removes with their jobs, or those of one job. */
export const STEPS_PER_PRUNE = 10_000;

const LONGEST_NAME = 200;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Half a surrogate pair would become another letter on its way, and two steps one key. */
export function isStepName(name: unknown): name is string {
  if (typeof name !== "string" || name.length === 0 || name.length > LONGEST_NAME) return false;
  return !CONTROL.test(name) && name.isWellFormed();
}

/** @throws {InvalidArgumentError} */
export function checkStepName(name: unknown): asserts name is string {
  if (!isStepName(name)) {
    throw new InvalidArgumentError("step", name, "a name of 1 to 200 characters without control characters");
  }
}

/** D4's key: the same whoever makes the effect, so without the generation. */
export function stepKey(id: JobId, run: number, step: string): string {
  return `${effectScope(id, run)}/${step}`;
}

/** What a write of the current owner makes of the record that was found; a repeat of the same write is `already`. */
export function writeStep(
  found: StepRecord | undefined,
  { fence, step, change }: StepWrite,
  job: Pick<JobRecord, "run" | "attempt">,
  nowMs: number,
): { readonly written: StepRecord } | { readonly answer: Already | StepConflict } {
  const { owner, generation } = fence;
  if (found !== undefined && !mayWrite(found, change, generation)) {
    const isRepeat = found.generation === generation && found.state === change.state;
    return { answer: isRepeat ? { outcome: "already" } : { outcome: "conflict", step: found } };
  }
  const ended = change.state !== "begun";
  return {
    written: {
      step,
      run: job.run,
      state: change.state,
      owner,
      generation,
      attempt: job.attempt,
      begunAtMs: ended ? (found?.begunAtMs ?? null) : nowMs,
      endedAtMs: ended ? nowMs : null,
      result: change.state === "done" ? change.result : null,
      error: change.state === "failed" ? change.error : null,
    },
  };
}

function mayWrite(found: StepRecord, change: StepChange, generation: Generation): boolean {
  if (found.state === "done") return false;
  if (change.state === "done") return true;
  const isOwn = found.generation === generation;
  if (change.state === "failed") return isOwn && found.state === "begun";
  // A write that comes late must not make a step begun that has ended meanwhile.
  return !isOwn && found.generation === change.after;
}

/** An operator's word on a step of a job that nobody runs. */
export function resolveStep(
  job: Pick<JobRecord, "state" | "run">,
  found: StepRecord | undefined,
  resolution: StepResolution,
  nowMs: number,
): { readonly written?: StepRecord; readonly answer: StepResolved } {
  if (found === undefined) return { answer: { outcome: "gone" } };
  if (job.state === "leased") return conflict("the job is leased; cancel or revoke it first");
  if (found.state === "done") return conflict("the step is done, and its result may have been used");
  const written: StepRecord = {
    ...found,
    state: resolution.done ? "done" : "failed",
    owner: null,
    endedAtMs: nowMs,
    result: resolution.done ? resolution.result : null,
    error: null,
  };
  return { written, answer: { outcome: "applied" } };
}

function conflict(why: string): { readonly answer: StepResolved } {
  return { answer: { outcome: "conflict", why } };
}

/** What the journal says of it. */
export function resolutionText(step: string, { done }: StepResolution): string {
  return `an operator said that the step ${JSON.stringify(step)} was ${done ? "done" : "not done"}`;
}

/** Nobody is at it any more, and nobody knows whether it happened. */
export function isUnknownStep(
  job: Pick<JobRecord, "state" | "generation" | "run">,
  { state, run, generation }: StepRecord,
): boolean {
  if (state !== "begun") return false;
  return isEnded(job) || job.state === "ready" || run !== job.run || generation !== job.generation;
}

/** How many of these jobs, in their order, one pruning takes with all their steps: one at least. */
export function prunedTogether(steps: readonly number[]): number {
  let total = 0;
  for (const [index, count] of steps.entries()) {
    total += count;
    if (total > STEPS_PER_PRUNE) return Math.max(index, 1);
  }
  return steps.length;
}

/** Steps in the order in which they began, or ended where no beginning is written. */
export function byTime(one: StepRecord, other: StepRecord): number {
  const at = (step: StepRecord): number => step.begunAtMs ?? step.endedAtMs ?? 0;
  return at(one) - at(other) || (one.step < other.step ? -1 : 1);
}
