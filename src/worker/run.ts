import type { JobDefinition } from "../client/define-job.ts";
import { parsed } from "../client/schema.ts";
import { type EndOfTrust, LeaseEndedError } from "../errors.ts";
import type { Fence, Generation } from "../protocol/identity.ts";
import type { JobState } from "../protocol/job.ts";
import type { Refusal } from "../protocol/outcome.ts";
import type { SettledAnswer, Settlement } from "../protocol/settle.ts";
import type { StepChange, StepRecord } from "../protocol/step.ts";
import { earliestEndMs, type Instant } from "../protocol/trust.ts";
import type { ClaimedJob, Tx } from "../stores/store.ts";
import { completeRun } from "./complete.ts";
import type { RunRef, WorkerEvents } from "./events.ts";
import { refusedMark } from "./healing.ts";
import { HeldLease, type LeaseHolder } from "./held-lease.ts";
import { IsolatedRun } from "./isolation/isolated-run.ts";
import type { ProcessPool } from "./isolation/process-pool.ts";
import { readSteps } from "./read-steps.ts";
import { resultJson } from "./result-json.ts";
import { type ContextRun, RunContext } from "./run-context.ts";
import { endOfTrust, failureOf, type RunEnd, tellEnd } from "./run-end.ts";
import type { RunHost } from "./run-host.ts";
import type { RunSteps, StepAnswer } from "./steps.ts";
import { isFinal } from "./stored-error.ts";

export type ReleaseReason = WorkerEvents["released"]["why"];

/** `waiting`: claimed ahead. `settling`: the handler has ended, the store does not know yet. */
export type RunPhase = "waiting" | "running" | "settling" | "done";

/**
 * One claimed job's life: from the claim, through its handler, to what the store said to its outcome. Whatever the
 * handler does, the run comes to an end, and no other run hears of it.
 */
export class Run implements LeaseHolder, ContextRun {
  readonly claimed: ClaimedJob;
  /** Undefined when this worker does not know the job's name. */
  readonly definition: JobDefinition | undefined;
  readonly host: RunHost;
  readonly lease: HeldLease;
  phase: RunPhase = "waiting";
  /** Its place in the roster's list of running ones. */
  place = -1;
  startedAtMs = 0;
  aborted: EndOfTrust | undefined;
  stuck = false;
  /** What the store is to be told; set when the handler has ended. */
  settlement: Settlement | undefined;
  /** A destination has refused the run because of it: the store is to be told first (D6). */
  mark: Generation | undefined;
  /** `job.complete` has ended the job. */
  completed = false;
  /** `job.complete` is under way. */
  completing: Promise<unknown> | undefined;
  refusal: Refusal | undefined;
  /** Made when its handler asks for the first. */
  steps: RunSteps | undefined;
  #abortedAtMs = 0;
  /** No deadline of the run passes before this moment of the monotonic clock. */
  #quietUntilMs = 0;
  #controller: AbortController | undefined;
  #isolated: IsolatedRun | undefined;
  /** What the handler threw, if `threw`; anything can be thrown, also undefined. */
  thrown: unknown;
  threw = false;
  releaseReason: ReleaseReason = "stopping";

  constructor(claimed: ClaimedJob, definition: JobDefinition | undefined, sent: Instant, host: RunHost) {
    const { job } = claimed;
    const fence = { jobId: job.jobId, owner: job.owner, generation: job.generation };
    this.claimed = claimed;
    this.definition = definition;
    this.host = host;
    this.lease = new HeldLease(fence, claimed.token, job.leaseMs, sent, host.world.random.next(), this);
  }

  get fence(): Fence {
    return this.lease.fence as Fence;
  }

  /** For events; made only when somebody listens. */
  get ref(): RunRef {
    const { job, token } = this.claimed;
    const { jobId: id, name, queue, attempt, maxAttempts, generation } = job;
    return { id, name, queue, attempt, maxAttempts, generation, token };
  }

  /** As its definition says; a suspect also where its definition only tells where it stands (W8). */
  get isIsolated(): boolean {
    const { definition } = this;
    if (definition?.module === undefined || this.host.processes === undefined) return false;
    return definition.isolation === "process" || this.#isSuspect;
  }

  /** W8: no other run shares its process, which is the worker's own. */
  get runsAlone(): boolean {
    return this.#isSuspect && !this.isIsolated;
  }

  /** After two lapses in a row, or on its last attempt after a lapse. */
  get #isSuspect(): boolean {
    const { expiredCount, attempt, maxAttempts } = this.claimed.job;
    return expiredCount >= 2 || (expiredCount === 1 && attempt >= maxAttempts);
  }

  /**
   * T2: a grant that came back late, or waited too long, is not believed. The clock is looked at for each: the handler that was begun
   * just before may have kept the loop.
   */
  mayBegin(): boolean {
    this.host.refresh(this.lease);
    const { sent, leaseMs, marginMs } = this.lease;
    return this.host.world.clock.monotonicMs() - sent.monotonicMs < leaseMs - marginMs;
  }

  /** `maxRunMs` counts from now: an isolated handler begins when its process is there. */
  begins(nowMs: number): void {
    this.startedAtMs = nowMs;
    const { maxRunMs } = this.claimed.job;
    if (maxRunMs !== null) this.host.limit(this.lease, nowMs + maxRunMs + this.host.graceMs);
  }

  /** Calls the handler. Never rejects. */
  async execute(): Promise<void> {
    this.phase = "running";
    this.begins(this.host.world.clock.monotonicMs());
    if (this.host.events.has("started")) {
      this.host.events.emit("started", { job: this.ref, previous: this.claimed.previous });
    }
    let settlement: Settlement;
    try {
      const definition = this.definition as JobDefinition;
      let result: string | null | Promise<string | null>;
      if (this.isIsolated) {
        this.#isolated = new IsolatedRun(this, this.host.processes as ProcessPool);
        result = this.#isolated.result(definition.module as string);
      } else {
        let input = parsed(definition.input, JSON.parse(this.claimed.job.input), definition.name, "input");
        if (input instanceof Promise) input = await input;
        const returned = await definition.run(new RunContext(this, input));
        result = this.completed ? null : this.resultJson(returned);
      }
      if (result instanceof Promise) result = await result;
      settlement = { operation: "complete", fence: this.fence, result };
    } catch (thrown) {
      this.thrown = thrown;
      this.threw = true;
      settlement = failureOf(this, thrown);
      if (!isFinal(thrown)) this.mark = refusedMark(thrown, this.lease.token);
    }
    if (this.steps !== undefined) settlement = await this.#withSteps(this.steps, settlement);
    this.settlement = settlement;
    this.phase = "settling";
    // It did not hang: however long its outcome takes to be known, its lease is kept for it.
    if (this.claimed.job.maxRunMs !== null && !this.stuck)
      this.host.limit(this.lease, Number.POSITIVE_INFINITY);
    this.host.handlerEnded(this);
    if (this.completing !== undefined || this.host.writer.isBusyWith(this)) await this.#quiet();
    this.#conclude();
  }

  /** The worker closes and the handler has not ended: its lease is left to lapse (W4, W6). */
  leaveBehind(): void {
    if (this.phase === "running" && !this.stuck) this.#markStuck(this.host.world.clock.monotonicMs());
  }

  /** Ends the process of its handler, which is isolated; the run ends with it. */
  terminate(): void {
    this.#isolated?.terminate(this.aborted ?? "shutdown");
  }

  /** Gives the job back without running it: its attempt is returned. */
  release(why: ReleaseReason, delayMs = 0): void {
    this.releaseReason = why;
    this.settlement = { operation: "release", fence: this.fence, delayMs };
    this.phase = "settling";
    this.#conclude();
  }

  /** Fires the signal, once; the first reason stays. */
  abort(reason: EndOfTrust): void {
    if (this.aborted !== undefined || this.phase === "done") return;
    this.aborted = reason;
    this.#quietUntilMs = 0;
    this.#abortedAtMs = this.host.world.clock.monotonicMs();
    if (reason !== "shutdown" && reason !== "cancelled" && reason !== "max_run") this.lease.end();
    if (this.host.events.has("aborted")) this.host.events.emit("aborted", { job: this.ref, reason });
    this.#controller?.abort(new LeaseEndedError(reason, this.lease.token));
    this.#isolated?.abort(reason);
  }

  /** Made when first asked for: a signal costs more than the rest of a run. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted !== undefined)
        this.#controller.abort(new LeaseEndedError(this.aborted, this.lease.token));
    }
    return this.#controller.signal;
  }

  /** Looks at the run's deadlines; called every tick while its handler runs. */
  tick(now: Instant): void {
    if (now.monotonicMs < this.#quietUntilMs || this.phase !== "running" || this.completed) return;
    const { maxRunMs } = this.claimed.job;
    this.host.refresh(this.lease);
    if (this.lease.stateAt(now) === "ended") this.abort("lease_expired");
    else if (maxRunMs !== null && now.monotonicMs - this.startedAtMs >= maxRunMs && this.#isThere)
      this.abort("max_run");
    this.#isolated?.renewed();
    if (this.aborted === undefined) this.#quietUntilMs = this.#nextDeadlineMs;
    if (this.aborted === undefined || this.stuck) return;
    if (now.monotonicMs - this.#abortedAtMs < this.host.graceMs) return;
    if (this.#isolated === undefined) this.#markStuck(now.monotonicMs);
    else this.terminate();
  }

  renewed(answer: { readonly cancelRequested: boolean }): void {
    if (answer.cancelRequested && this.phase === "running") this.abort("cancelled");
  }

  /** A renewal, write or `job.complete` was refused. Once the run's own outcome is on its way, that one decides (W5). */
  refused(refusal: Refusal): void {
    if (this.phase === "done" || this.completed || this.refusal !== undefined) return;
    if (this.phase === "settling" && this.completing === undefined) return;
    this.refusal = refusal;
    this.host.drop(this.lease);
    this.lease.end();
    if (this.phase === "running") this.abort(endOfTrust(refusal));
    else if (this.phase === "waiting") this.#conclude();
  }

  /** Another run has its slot in a limited queue: it is given back, with its attempt, as soon as its handler ends. */
  slotLost(): void {
    if (this.phase === "waiting") {
      this.release("slot_lost");
    } else if (this.phase === "running") {
      this.releaseReason = "slot_lost";
      this.abort("lease_superseded");
    }
  }

  /** The store's answer to the settlement, which was applied now or by an earlier call whose answer got lost. */
  settled(answer: SettledAnswer | undefined): void {
    const { operation } = this.settlement as Settlement;
    const state = answer?.state ?? (operation === "fail" && this.#isLastAttempt() ? "failed" : "ready");
    if (operation === "complete") this.#done("completed");
    else if (state === "cancelled") this.#done("cancelled");
    else if (state === "failed") this.#done("failed", answer);
    else if (operation === "release") this.#done("released");
    else this.#done("retried");
  }

  /** C19: the store has heard of the mark and given the job back, or ended it. */
  healed(state: JobState): void {
    const mark = this.mark as Generation;
    this.releaseReason = "healed";
    this.settlement = { operation: "release", fence: this.fence, delayMs: 0 };
    if (this.host.events.has("healed")) this.host.events.emit("healed", { job: this.ref, mark, state });
    this.settled({ outcome: "applied", state, endReason: state === "failed" ? "mark" : null });
  }

  /** The store refused the settlement: nothing was written, and nothing will be. */
  unsettled(refusal: Refusal): void {
    this.refusal = refusal;
    this.#done("lost");
  }

  /** No answer was to be had before the worker had to close: the lease lapses, or the outcome is there already. */
  abandon(): void {
    if (this.phase !== "done") this.#done("abandoned");
  }

  /** `job.complete` has committed. */
  markCompleted(): void {
    this.completed = true;
    this.host.drop(this.lease);
  }

  resultJson(returned: unknown): string | null | Promise<string | null> {
    return resultJson(this.definition as JobDefinition, returned, this.host.maxResultBytes);
  }

  // --- what its context, or its process, asks for ---

  refresh(): void {
    this.host.refresh(this.lease);
  }

  progress(json: string): void {
    this.host.writer.progress(this, json);
  }

  log(text: string): void {
    this.host.writer.log(this, text);
  }

  get isOver(): boolean {
    return this.phase !== "running" || this.completed;
  }

  async writeStep(name: string, change: StepChange): Promise<StepAnswer> {
    const answer = await this.host.steps.write(this, name, change);
    if (answer.outcome === "stale" || answer.outcome === "gone") this.refused(answer);
    return answer;
  }

  readSteps(): Promise<readonly StepRecord[]> {
    return readSteps(this);
  }

  complete<Result>(body: (tx: Tx) => Promise<Result> | Result): Promise<Result> {
    return completeRun(this, body);
  }

  /** A step that its handler did not wait for is still the run's: it is neither left alone nor its failure unheard. */
  async #withSteps(steps: RunSteps, settlement: Settlement): Promise<Settlement> {
    const late = await steps.ended();
    if (late === undefined || this.threw || this.completed) return settlement;
    this.thrown = late.error;
    this.threw = true;
    return failureOf(this, late.error);
  }

  async #quiet(): Promise<void> {
    await this.completing?.catch(() => {});
    await this.host.writer.quiet(this);
  }

  #conclude(): void {
    if (this.completed) {
      if (this.threw) this.host.events.emit("threwLate", { job: this.ref, error: this.thrown });
      this.#done("completed");
    } else if (this.refusal !== undefined) {
      this.#done("lost");
    } else {
      this.host.settle(this);
    }
  }

  /** Whether its handler has been called, which an isolated one's is when its process has started. */
  get #isThere(): boolean {
    return this.#isolated?.hasBegun ?? true;
  }

  /** A process of its own hears of each renewal, so that it is looked at every tick. */
  get #nextDeadlineMs(): number {
    if (this.#isolated !== undefined) return 0;
    const { maxRunMs } = this.claimed.job;
    const endsMs = earliestEndMs(this.lease);
    return maxRunMs === null ? endsMs : Math.min(endsMs, this.startedAtMs + maxRunMs);
  }

  #markStuck(nowMs: number): void {
    this.stuck = true;
    // Held all the same: a renewal that is under way may be refused yet, and ends its trust then (I11).
    this.host.limit(this.lease, nowMs);
    this.host.stuck(this, this.aborted ?? "shutdown", nowMs - this.startedAtMs);
  }

  #isLastAttempt(): boolean {
    const { settlement } = this;
    const final = settlement?.operation === "fail" && settlement.retryInMs === "final";
    return final || this.claimed.job.attempt >= this.claimed.job.maxAttempts;
  }

  #done(how: RunEnd, answer?: SettledAnswer): void {
    this.phase = "done";
    this.host.drop(this.lease);
    this.lease.end();
    tellEnd(this, how, answer);
    this.host.done(this, how);
  }
}
