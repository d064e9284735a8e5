/** Steps as handlers write them, and as readers see them. */

import type { BegunStep } from "../errors.ts";
import type { JobId } from "../protocol/identity.ts";
import type { JobRecord } from "../protocol/job.ts";
import { isUnknownStep, type StepRecord, type StepState, stepKey } from "../protocol/step.ts";
import type { StoredError } from "./job-view.ts";

export interface StepScope {
  /**
   * D4's key of the step's effect, `job:<job_id>/<run>/<step>`: the same in every attempt, so that a destination which
   * keeps idempotency keys knows a repeat. The destinations' kits make the same one of the lease and the step's name.
   */
  readonly key: string;
}

export type StepFunction<Result> = (scope: StepScope) => Promise<Result> | Result;

export interface StepOptions<Result> {
  /**
   * What becomes of a step that an earlier attempt began and nobody knows the end of.
   *
   * - `"throw"` (default): a `StepUnknownError`, which fails the job for good unless the handler catches it. For a person.
   * - `"run"`: it is run again. For an effect that may be repeated, or whose destination takes `key`. No beginning of
   *   such a step is written, so it costs one write instead of two.
   * - a function that asks the destination: what it returns is the step's result; `run()` runs the step again, and
   *   resolves to what it returned. What it throws leaves the step unknown, unless `run()` was called.
   */
  readonly onUnknown?:
    | "throw"
    | "run"
    | ((begun: BegunStep, run: () => Promise<Result>) => Promise<Result> | Result);
}

/**
 * Runs `fn` unless an earlier attempt of this run number has finished the step of this name: then its result comes back
 * and `fn` is not called. Records are written to the job's own store under the run's fence; the result is kept as JSON, and
 * comes out of its JSON text the first time too. Steps may run side by side. Await each: the run ends when they have.
 *
 * What is not promised: that `fn` runs once. A process that dies between `fn` and the record leaves the step unknown;
 * `onUnknown` says what follows. When `fn` throws, that is taken for its word that it has not been done, and a later
 * attempt runs it again; not so after an `UnknownOutcomeError` (also as a cause), or when the run's signal had fired.
 *
 * @throws {StepUnknownError} see `onUnknown`
 * @throws {StepRepeatedError} the name stood for another step of this execution
 * @throws {StaleLeaseError | GoneError} the store refused the record: another attempt has the job, or it has ended
 * @throws {LeaseNotTrustedError | LeaseEndedError} the lease is not to be trusted, or the signal has fired: `fn` did not begin
 * @throws {UnstorableValueError} `fn` ran, and its result cannot be kept: the step stays unknown
 * @throws {UnknownOutcomeError | StoreBusyError} no answer of the store for as long as the lease was trusted
 */
export interface Step {
  <Result>(name: string, fn: StepFunction<Result>): Promise<Result>;
  <Result>(name: string, options: StepOptions<Result>, fn: StepFunction<Result>): Promise<Result>;
}

/** A step's record, with its texts parsed. Times are store time, ms since 1970, for display. */
export interface StepView extends Omit<StepRecord, "state" | "result" | "error"> {
  /** `unknown`: begun, and nobody is at it any more. */
  readonly state: StepState | "unknown";
  readonly key: string;
  /** What a done step returned; undefined for nothing. */
  readonly result: unknown;
  /** What a failed one threw. */
  readonly error: StoredError | undefined;
}

export function stepView(job: JobRecord, step: StepRecord): StepView {
  return {
    ...step,
    state: isUnknownStep(job, step) ? "unknown" : step.state,
    key: stepKey(job.jobId, step.run, step.step),
    result: parsedStep(step.result),
    error: parsedStep(step.error) as StoredError | undefined,
  };
}

export function begunStep(jobId: JobId, record: StepRecord): BegunStep {
  const { run, step, owner, generation, attempt, begunAtMs } = record;
  const key = stepKey(jobId, run, step);
  return { jobId, run, step, key, owner, generation, attempt, begunAtMs: begunAtMs ?? 0 };
}

export function parsedStep(text: string | null): unknown {
  return text === null ? undefined : JSON.parse(text);
}
