import type { Lease } from "../client/handler.ts";
import { checkFunction, checkKnown } from "../client/known-options.ts";
import { begunStep, parsedStep, type StepFunction, type StepOptions } from "../client/step.ts";
import {
  AlreadySettledError,
  type EndOfTrust,
  GoneError,
  InvalidArgumentError,
  LeaseEndedError,
  StaleLeaseError,
  StepRepeatedError,
  StepUnknownError,
} from "../errors.ts";
import { jobLine } from "../protocol/identity.ts";
import { checkStepName, MAX_STEPS, type StepChange, type StepRecord, stepKey } from "../protocol/step.ts";
import { resultText } from "../protocol/storable.ts";
import type { ClaimedJob, RunWriteAnswer } from "../stores/store.ts";
import { errorJson, saysOutcomeIsUnknown } from "./stored-error.ts";

const OPTIONS = new Set(["onUnknown"]);

type AnyFunction = StepFunction<unknown>;
type AnyOptions = StepOptions<unknown>;
/** What stands behind a step's name. */
export type StepArguments = [fn: AnyFunction] | [options: AnyOptions, fn: AnyFunction];

/** What the store says to a step's record, once that is known. */
export type StepAnswer = Exclude<RunWriteAnswer, { readonly outcome: "busy" }>;

/** What steps ask of their run, which lives in this process or speaks for one in the worker's. */
export interface StepRun {
  readonly claimed: ClaimedJob;
  readonly host: { readonly maxResultBytes: number };
  /** The handler has ended, or `job.complete` the job: no step may begin. */
  readonly isOver: boolean;
  /** Why its signal has fired. */
  readonly aborted: EndOfTrust | undefined;
  /** @throws {UnknownOutcomeError | StoreBusyError} no answer for as long as the lease was trusted */
  writeStep(name: string, change: StepChange): Promise<StepAnswer>;
  /** Those of the present run number. @throws as `writeStep` */
  readSteps(): Promise<readonly StepRecord[]>;
}

/** The steps of one execution; made when its handler asks for the first. See `Step` for what it promises. */
export class RunSteps {
  readonly #run: StepRun;
  readonly #lease: Lease;
  readonly #names = new Set<string>();
  /** What earlier attempts left; read once, when it is first needed. */
  #earlier: Promise<ReadonlyMap<string, StepRecord>> | undefined;
  #open = 0;
  #handlerEnded = false;
  #late: { readonly error: unknown } | undefined;
  #idle: (() => void)[] = [];

  constructor(run: StepRun, lease: Lease) {
    this.#run = run;
    this.#lease = lease;
  }

  call(name: string, rest: StepArguments): Promise<unknown> {
    const [options, fn] = rest.length === 1 ? [{}, rest[0]] : rest;
    const step = this.#counted(name, options, fn);
    step.catch(() => {}); // one that nobody awaits must not end the process; `ended` tells of it
    return step;
  }

  /** Resolves when no step is under way: they are the run's. Answers what one threw whom the handler did not wait for. */
  async ended(): Promise<{ readonly error: unknown } | undefined> {
    this.#handlerEnded = true;
    while (this.#open > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
    return this.#late;
  }

  async #counted(name: string, options: AnyOptions, fn: AnyFunction): Promise<unknown> {
    this.#check(name, options, fn);
    this.#open++;
    try {
      return await this.#one(name, options.onUnknown ?? "throw", fn);
    } catch (error) {
      if (this.#handlerEnded) this.#late ??= { error };
      throw error;
    } finally {
      this.#open--;
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  #check(name: string, options: AnyOptions, fn: AnyFunction): void {
    checkStepName(name);
    checkKnown("options", options, OPTIONS);
    checkFunction("fn", fn);
    const { onUnknown = "throw" } = options;
    if (onUnknown !== "throw" && onUnknown !== "run" && typeof onUnknown !== "function")
      throw new InvalidArgumentError("onUnknown", onUnknown, `"throw", "run" or a function`);
    const { job } = this.#run.claimed;
    if (this.#run.isOver) throw new AlreadySettledError(job, "step");
    if (this.#names.has(name)) throw new StepRepeatedError(job.jobId, name);
    if (this.#names.size >= MAX_STEPS)
      throw new InvalidArgumentError("step", name, `one of at most ${MAX_STEPS} steps in a run`);
    this.#names.add(name);
  }

  async #one(
    name: string,
    onUnknown: NonNullable<AnyOptions["onUnknown"]>,
    fn: AnyFunction,
  ): Promise<unknown> {
    const isRepeatable = onUnknown === "run";
    // Where probably nobody has been before, the write of the beginning finds out whether somebody has after all.
    let found = isRepeatable || !this.#isProbablyFirst() ? (await this.#all()).get(name) : undefined;
    if (isRepeatable && found?.state !== "done") {
      this.#assertMayBegin();
      return this.#done(name, () => this.#call(name, fn));
    }
    if (found === undefined || found.state === "failed") {
      const known = await this.#begin(name, found);
      if (known === undefined) return this.#done(name, () => this.#recorded(name, fn));
      found = known;
    }
    if (found.state === "done") return parsedStep(found.result);
    const begun = begunStep(this.#run.claimed.job.jobId, found);
    if (typeof onUnknown !== "function") throw new StepUnknownError(begun);
    const unknown = found;
    const again = async (): Promise<unknown> => {
      if ((await this.#begin(name, unknown)) !== undefined) throw new StepUnknownError(begun);
      return this.#recorded(name, fn);
    };
    return this.#done(name, () => onUnknown(begun, again));
  }

  /** The first claim of a job finds no steps. A revoke gives the attempt back and leaves no trace: so only probably. */
  #isProbablyFirst(): boolean {
    const { job, previous } = this.#run.claimed;
    return (
      job.attempt === 1 &&
      job.run === 1 &&
      job.settled === null &&
      job.heals === 0 &&
      previous === undefined &&
      this.#earlier === undefined
    );
  }

  #all(): Promise<ReadonlyMap<string, StepRecord>> {
    this.#earlier ??= this.#read().catch((error: unknown) => {
      this.#earlier = undefined;
      throw error;
    });
    return this.#earlier;
  }

  async #read(): Promise<ReadonlyMap<string, StepRecord>> {
    const records = await this.#run.readSteps();
    return new Map(records.map((record) => [record.step, record]));
  }

  /** @returns a record that was there unknown to us, in which case nothing was begun */
  async #begin(name: string, found: StepRecord | undefined): Promise<StepRecord | undefined> {
    this.#assertMayBegin();
    const known = await this.#write(name, { state: "begun", after: found?.generation ?? null });
    // Somebody ended it between our look and our write: an operator, while nobody had the job.
    if (known?.state === "failed" && known.generation !== found?.generation) return this.#begin(name, known);
    if (known !== undefined) return known;
    try {
      this.#assertMayBegin(); // the write may have taken long
    } catch (error) {
      await this.#noteFailure(name, error);
      throw error;
    }
    return undefined;
  }

  #assertMayBegin(): void {
    const { aborted, claimed } = this.#run;
    if (aborted !== undefined) throw new LeaseEndedError(aborted, claimed.token);
    this.#lease.assertTrusted();
  }

  async #call(name: string, fn: AnyFunction): Promise<unknown> {
    const { jobId, run } = this.#run.claimed.job;
    return fn({ key: stepKey(jobId, run, name) });
  }

  /** Of a throw it is written that the step was not done, unless nobody can know that. */
  async #recorded(name: string, fn: AnyFunction): Promise<unknown> {
    try {
      return await this.#call(name, fn);
    } catch (error) {
      const isUnknown = this.#run.aborted !== undefined || saysOutcomeIsUnknown(error);
      if (!isUnknown) await this.#noteFailure(name, error);
      throw error;
    }
  }

  /** What `fn` threw is what the handler is to hear of, also where the record of it was refused. */
  async #noteFailure(name: string, error: unknown): Promise<void> {
    await this.#write(name, { state: "failed", error: errorJson(error) }).catch(() => {});
  }

  /** The result that counts: where the step turns out to be done already, the first one. */
  async #done(name: string, make: () => unknown): Promise<unknown> {
    const value = await make();
    const root = `the result of step ${JSON.stringify(name)}`;
    const result = resultText(value, this.#run.host.maxResultBytes, root);
    const known = await this.#write(name, { state: "done", result });
    return parsedStep(known === undefined ? result : known.result);
  }

  /** @returns the record that stands in the way; undefined when the change is there */
  async #write(name: string, change: StepChange): Promise<StepRecord | undefined> {
    const answer = await this.#run.writeStep(name, change);
    if (answer.outcome === "applied" || answer.outcome === "already") return undefined;
    if (answer.outcome === "conflict") return answer.step;
    const { jobId, generation } = this.#run.claimed.job;
    if (answer.outcome === "gone") throw new GoneError(`Job ${jobId}`);
    throw new StaleLeaseError(
      { line: jobLine(jobId), generation },
      answer.generation,
      answer.reason,
      `step ${JSON.stringify(name)}`,
    );
  }
}
