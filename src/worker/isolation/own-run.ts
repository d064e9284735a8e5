import type { World } from "../../clock/world.ts";
import { type EndOfTrust, LeaseEndedError } from "../../errors.ts";
import type { FencingToken } from "../../protocol/identity.ts";
import type { StepChange, StepRecord } from "../../protocol/step.ts";
import {
  defaultMarginMs,
  type Instant,
  type Trust,
  type TrustState,
  trustState,
} from "../../protocol/trust.ts";
import type { ClaimedJob } from "../../stores/store.ts";
import type { ContextRun } from "../run-context.ts";
import type { RunSteps, StepAnswer } from "../steps.ts";
import { Ticker } from "../ticker.ts";
import { arrived } from "./carried-error.ts";
import { IsolatedCompletionError } from "./errors.ts";
import type { AwaitedCall, CallAnswer, FromProcess, ToProcess } from "./messages.ts";
import type { TrustCell } from "./trust-cell.ts";

/** A lease that the worker renews and this process trusts, by its own clocks, as far as it has heard. */
class ReportedLease implements Trust {
  readonly token: FencingToken;
  readonly leaseMs: number;
  readonly marginMs: number;
  sent: Instant;
  #ended = false;

  constructor(token: FencingToken, leaseMs: number, sent: Instant) {
    this.token = token;
    this.leaseMs = leaseMs;
    this.marginMs = defaultMarginMs(leaseMs);
    this.sent = sent;
  }

  /** `ended` is final (T3). */
  stateAt(now: Instant): TrustState {
    if (this.#ended) return "ended";
    const state = trustState(this, now);
    if (state === "ended") this.#ended = true;
    return state;
  }

  end(): void {
    this.#ended = true;
  }
}

/** The isolated end of a run: what its handler's context asks of it becomes messages to the worker. */
export class OwnRun implements ContextRun {
  readonly number: number;
  readonly claimed: ClaimedJob;
  readonly lease: ReportedLease;
  readonly host: { readonly world: World; readonly maxResultBytes: number };
  steps: RunSteps | undefined;
  aborted: EndOfTrust | undefined;
  isOver = false;
  readonly #calls = new Map<number, (answer: CallAnswer) => void>();
  #called = 0;
  readonly #tell: (message: FromProcess) => void;
  readonly #cell: TrustCell;
  readonly #controller = new AbortController();
  readonly #ticker: Ticker;

  constructor(
    begun: ToProcess & { readonly kind: "run" },
    world: World,
    cell: TrustCell,
    tell: (message: FromProcess) => void,
  ) {
    this.number = begun.run;
    this.claimed = begun.claimed;
    this.lease = new ReportedLease(begun.claimed.token, begun.claimed.job.leaseMs, begun.sent);
    this.host = { world, maxResultBytes: begun.maxResultBytes };
    this.#cell = cell;
    this.#tell = tell;
    this.#ticker = new Ticker(world, (now) => this.#tick(now));
    this.#ticker.start();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What the watchdog has heard meanwhile. */
  refresh(): void {
    const sent = this.#cell.reported(this.number);
    if (sent !== undefined && sent.monotonicMs > this.lease.sent.monotonicMs) this.lease.sent = sent;
  }

  progress(json: string): void {
    this.#tell({ kind: "progress", run: this.number, json });
  }

  log(text: string): void {
    this.#tell({ kind: "log", run: this.number, text });
  }

  writeStep(step: string, change: StepChange): Promise<StepAnswer> {
    return this.#call({ method: "writeStep", step, change }) as Promise<StepAnswer>;
  }

  readSteps(): Promise<readonly StepRecord[]> {
    return this.#call({ method: "readSteps" }) as Promise<readonly StepRecord[]>;
  }

  /** The worker's answer to an awaited call. */
  answered(call: number, answer: CallAnswer): void {
    this.#calls.get(call)?.(answer);
    this.#calls.delete(call);
  }

  complete(): Promise<never> {
    return Promise.reject(new IsolatedCompletionError(this.claimed.job.name));
  }

  /** The worker's word, or our own clock's; the first reason stays. */
  abort(reason: EndOfTrust): void {
    if (this.signal.aborted) return;
    this.aborted = reason;
    if (reason !== "shutdown" && reason !== "cancelled" && reason !== "max_run") this.lease.end();
    this.#controller.abort(new LeaseEndedError(reason, this.lease.token));
  }

  /** The handler has returned; what it left behind can be trusted to be nothing unless it was told to stop. */
  ended(): void {
    this.#ticker.stop();
    this.lease.end();
    if (!this.signal.aborted) this.#cell.end(this.number);
  }

  /** It threw: work that it had begun beside may go on, so the deadline stays until the worker ends this process. */
  failed(): void {
    this.#ticker.stop();
    this.lease.end();
  }

  #call(call: AwaitedCall): Promise<unknown> {
    const number = ++this.#called;
    return new Promise((resolve, reject) => {
      this.#calls.set(number, (answer) => {
        if ("error" in answer) reject(arrived(answer.error));
        else resolve(answer.value);
      });
      this.#tell({ kind: "call", run: this.number, call: number, ...call });
    });
  }

  #tick(now: Instant): boolean {
    this.refresh();
    if (this.lease.stateAt(now) === "ended") this.abort("lease_expired");
    return !this.signal.aborted;
  }
}
