import type { RunContext as HandlerContext, Lease, RunningJob } from "../client/handler.ts";
import type { Step } from "../client/step.ts";
import type { World } from "../clock/world.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Previous } from "../protocol/claim.ts";
import { effectScope, type JobId } from "../protocol/identity.ts";
import { storableJson } from "../protocol/storable.ts";
import type { Tx } from "../stores/store.ts";
import { LeaseView, type TrustedLease } from "./lease-view.ts";
import { RunSteps, type StepArguments, type StepRun } from "./steps.ts";

const MAX_LOG_LENGTH = 4_096;

/** What a context asks of its run, which lives in this process or, when isolated, speaks for one in the worker's. */
export interface ContextRun extends StepRun {
  readonly lease: TrustedLease;
  readonly signal: AbortSignal;
  readonly host: { readonly world: World; readonly maxResultBytes: number };
  /** Made when its handler asks for the first. */
  steps: RunSteps | undefined;
  /** Brings what others have renewed into the lease. */
  refresh(): void;
  progress(json: string): void;
  log(text: string): void;
  complete<Result>(body: (tx: Tx) => Promise<Result> | Result): Promise<Result>;
}

/** What a handler gets. Each member is made when it is first asked for: most handlers use two of them. */
export class RunContext implements HandlerContext {
  readonly input: unknown;
  readonly #run: ContextRun;
  #lease: Lease | undefined;
  #job: RunningJob | undefined;

  constructor(run: ContextRun, input: unknown) {
    this.input = input;
    this.#run = run;
  }

  get job(): RunningJob {
    this.#job ??= new JobOfRun(this.#run);
    return this.#job;
  }

  get lease(): Lease {
    const run = this.#run;
    this.#lease ??= new LeaseView(
      run.lease,
      effectScope(run.claimed.job.jobId, run.claimed.job.run),
      run.host.world,
      () => run.signal,
      () => run.refresh(),
    );
    return this.#lease;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get step(): Step {
    const run = this.#run;
    run.steps ??= new RunSteps(run, this.lease);
    const { steps } = run;
    return ((name: string, ...rest: StepArguments) => steps.call(name, rest)) as Step;
  }

  get progress(): (value: unknown) => void {
    const run = this.#run;
    return (value) => run.progress(storableJson(value, "progress", run.host.maxResultBytes));
  }

  get log(): (text: string) => void {
    const run = this.#run;
    return (text) => {
      if (typeof text !== "string") throw new InvalidArgumentError("log", text, "a text");
      const cut = text.length > MAX_LOG_LENGTH ? `${text.slice(0, MAX_LOG_LENGTH)}…` : text;
      run.log(cut.toWellFormed().replaceAll("\0", "\u{fffd}"));
    };
  }
}

class JobOfRun implements RunningJob {
  readonly #run: ContextRun;

  constructor(run: ContextRun) {
    this.#run = run;
  }

  get id(): JobId {
    return this.#run.claimed.job.jobId;
  }
  get name(): string {
    return this.#run.claimed.job.name;
  }
  get queue(): string {
    return this.#run.claimed.job.queue;
  }
  get attempt(): number {
    return this.#run.claimed.job.attempt;
  }
  get maxAttempts(): number {
    return this.#run.claimed.job.maxAttempts;
  }
  get run(): number {
    return this.#run.claimed.job.run;
  }
  get previous(): Previous | undefined {
    return this.#run.claimed.previous;
  }
  complete<Result>(body: (tx: Tx) => Promise<Result> | Result): Promise<Result> {
    return this.#run.complete(body);
  }
}
