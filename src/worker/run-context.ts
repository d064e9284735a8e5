import type { RunContext as HandlerContext, Lease, RunningJob } from "../client/handler.ts";
import type { Step } from "../client/step.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Previous } from "../protocol/claim.ts";
import { effectScope, type JobId } from "../protocol/identity.ts";
import { storableJson } from "../protocol/storable.ts";
import type { Tx } from "../stores/store.ts";
import { completeRun } from "./complete.ts";
import { LeaseView } from "./lease-view.ts";
import type { Run } from "./run.ts";
import { RunSteps, type StepArguments } from "./steps.ts";

const MAX_LOG_LENGTH = 4_096;

/** What a handler gets. Each member is made when it is first asked for: most handlers use two of them. */
export class RunContext implements HandlerContext {
  readonly input: unknown;
  readonly #run: Run;
  #lease: Lease | undefined;
  #job: RunningJob | undefined;

  constructor(run: Run, input: unknown) {
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
      (lease) => run.host.refresh(lease),
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
    return (value) => run.host.writer.progress(run, storableJson(value, "progress", run.host.maxResultBytes));
  }

  get log(): (text: string) => void {
    const run = this.#run;
    return (text) => {
      if (typeof text !== "string") throw new InvalidArgumentError("log", text, "a text");
      const cut = text.length > MAX_LOG_LENGTH ? `${text.slice(0, MAX_LOG_LENGTH)}…` : text;
      run.host.writer.log(run, cut.toWellFormed().replaceAll("\0", "\u{fffd}"));
    };
  }
}

class JobOfRun implements RunningJob {
  readonly #run: Run;

  constructor(run: Run) {
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
    return completeRun(this.#run, body);
  }
}
