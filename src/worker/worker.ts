import type { Timer, World } from "../clock/world.ts";
import type { Owner } from "../protocol/identity.ts";
import type { Engine } from "./engine.ts";
import type { RunCounts, WorkerEvents } from "./events.ts";
import type { Pruner } from "./pruner.ts";
import type { Scheduler } from "./scheduler.ts";
import { checkGraceMs } from "./settings.ts";

/** After their signal at a stop, handlers have so long to end before they are left behind, ms. */
const AFTER_ABORT_MS = 2_000;
/** A killed process is gone within milliseconds, unless the kernel holds it in a call to a disk or a device. */
const AFTER_KILL_MS = 2_000;

/** What `leasehold.work` returns: it claims and runs jobs until it is stopped. */
export class Worker {
  /** Random, and new for each worker: a restarted one is another owner. */
  readonly owner: Owner;
  readonly #engine: Engine;
  readonly #world: World;
  readonly #pruner: Pruner | undefined;
  readonly #scheduler: Scheduler | undefined;
  readonly #stopped: (worker: Worker) => void;
  #stopping: Promise<void> | undefined;
  #grace: { readonly timer: Timer; readonly atMs: number; readonly over: () => void } | undefined;

  /** Made by `leasehold.work`; not to be called. */
  constructor(
    engine: Engine,
    pruner: Pruner | undefined,
    scheduler: Scheduler | undefined,
    stopped: (worker: Worker) => void,
  ) {
    this.owner = engine.owner;
    this.#engine = engine;
    this.#world = engine.world;
    this.#pruner = pruner;
    this.#scheduler = scheduler;
    this.#stopped = stopped;
    engine.start();
    pruner?.start();
    scheduler?.start();
  }

  /** How many handlers run at this moment. */
  get running(): number {
    return this.#engine.roster.running.length;
  }

  /** What became of runs since the worker began. */
  get counts(): Readonly<RunCounts> {
    return { ...this.#engine.counts };
  }

  /** Calls `listener` at each event of this name; what it throws is logged and hurts nobody. */
  on<Name extends keyof WorkerEvents>(name: Name, listener: (event: WorkerEvents[Name]) => void): this {
    this.#engine.events.on(name, listener);
    return this;
  }

  off<Name extends keyof WorkerEvents>(name: Name, listener: (event: WorkerEvents[Name]) => void): this {
    this.#engine.events.off(name, listener);
    return this;
  }

  /**
   * Stops (W6): claims nothing new, gives back what has not begun, lets handlers finish for `graceMs` while their leases
   * are renewed, then fires their signals, gives back the runs that end now, terminates isolated ones and gives them
   * back too, and leaves the rest to lapse. Stopping twice is fine; a second call may shorten the grace. Never rejects.
   *
   * @param options `graceMs`: instead of the worker's own
   */
  stop(options: { readonly graceMs?: number } = {}): Promise<void> {
    const { graceMs = this.#engine.graceMs } = options;
    checkGraceMs(graceMs);
    this.#stopping ??= this.#stop(graceMs);
    const grace = this.#grace;
    if (grace !== undefined && this.#world.clock.monotonicMs() + graceMs < grace.atMs) {
      grace.timer.cancel();
      this.#armGrace(graceMs, grace.over);
    }
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(graceMs: number): Promise<void> {
    const engine = this.#engine;
    this.#world.reached("in-shutdown");
    this.#pruner?.stop();
    // The grace counts from now, not from the answer to a claim that is still under way.
    const schedulerStopped = this.#scheduler?.stop();
    const graceOver = new Promise<void>((resolve) => this.#armGrace(graceMs, resolve));
    await engine.quiesce();
    await Promise.race([engine.handlersEnded(), graceOver]);
    this.#grace?.timer.cancel();
    this.#grace = undefined;
    if (this.running > 0) {
      engine.abortAll();
      await this.#within(engine.handlersEnded(), AFTER_ABORT_MS);
      await this.#within(engine.terminateIsolated(), AFTER_KILL_MS);
    }
    await this.#within(engine.outcomesKnown(), engine.callTimeoutMs);
    await schedulerStopped;
    await engine.close();
    this.#stopped(this);
    engine.events.emit("stopped", {});
  }

  #armGrace(graceMs: number, over: () => void): void {
    const timer = this.#world.timers.after(graceMs, over);
    this.#grace = { timer, atMs: this.#world.clock.monotonicMs() + graceMs, over };
  }

  async #within(ending: Promise<void>, ms: number): Promise<void> {
    const over = new AbortController();
    await Promise.race([ending, this.#world.timers.sleep(ms, over.signal)]);
    over.abort();
  }
}
