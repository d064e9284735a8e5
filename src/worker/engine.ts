import type { JobDefinition } from "../client/define-job.ts";
import type { Log } from "../client/log.ts";
import type { World } from "../clock/world.ts";
import { type EndOfTrust, SchemaVersionError, StoreUnusableError } from "../errors.ts";
import type { JobId, Owner } from "../protocol/identity.ts";
import type { Instant } from "../protocol/trust.ts";
import type { Claimed, Store } from "../stores/store.ts";
import { Claimer, type ClaimerHost } from "./claimer.ts";
import { StoreContact } from "./contact.ts";
import { Emitter } from "./emitter.ts";
import type { RunCounts, WorkerEvents } from "./events.ts";
import type { HeldLease } from "./held-lease.ts";
import { openPool } from "./isolation/open-pool.ts";
import type { ProcessPool } from "./isolation/process-pool.ts";
import { openRenewer } from "./open-renewer.ts";
import { QueueSlots } from "./queue-slots.ts";
import type { Renewer } from "./renewer.ts";
import { Roster } from "./roster.ts";
import { Run } from "./run.ts";
import type { RunEnd } from "./run-end.ts";
import type { RunHost } from "./run-host.ts";
import { RunWriter } from "./run-writer.ts";
import type { WorkerSettings } from "./settings.ts";
import { Settler } from "./settler.ts";
import { StepWriter } from "./step-writer.ts";
import { Ticker } from "./ticker.ts";

/** Outcomes that may be unconfirmed before nothing more is claimed. */
const MAX_BACKLOG = 2_000;
/** How long a job of an unknown name is put off: from 1 s, doubling, to 5 min. */
const UNKNOWN_FIRST_MS = 1_000;
const UNKNOWN_LONGEST_MS = 300_000;

/** Wires the parts of a worker together: what one of them finds out, the others hear from here. */
export class Engine implements RunHost, ClaimerHost {
  readonly world: World;
  readonly store: Store;
  readonly owner: Owner;
  readonly events: Emitter<WorkerEvents>;
  readonly writer: RunWriter;
  readonly steps: StepWriter;
  readonly callTimeoutMs: number;
  readonly maxResultBytes: number;
  readonly graceMs: number;
  readonly processes: ProcessPool | undefined;
  readonly counts: RunCounts = { completed: 0, failed: 0, cancelled: 0, retried: 0, released: 0, lost: 0 };
  readonly roster: Roster;
  readonly settler: Settler;
  readonly claimer: Claimer;
  readonly #jobs: ReadonlyMap<string, JobDefinition>;
  readonly #log: Log;
  readonly #contact: StoreContact;
  readonly #renewer: Renewer;
  readonly #slots: QueueSlots;
  readonly #ticker: Ticker;
  readonly #unknown = new Map<string, number>();
  /** Runs that have not come to their end. */
  #live = 0;
  #stopping = false;
  #closed = false;
  #unreachable = false;
  /** A claim was put off because of the backlog. */
  #isFull = false;
  #atEnd: (() => void)[] = [];
  /** Called when a job has ended by a run of this worker. */
  onEnded: ((id: JobId) => void) | undefined;
  /** Called when nothing is due and nothing runs. */
  onQuiet: (() => void) | undefined;
  /** Called with an error of the store that no waiting will mend. */
  onHopeless: ((error: unknown) => void) | undefined;

  constructor(
    store: Store,
    world: World,
    log: Log,
    jobs: ReadonlyMap<string, JobDefinition>,
    settings: WorkerSettings,
  ) {
    this.store = store;
    this.world = world;
    this.#log = log;
    this.#jobs = jobs;
    this.owner = world.ids.owner();
    this.callTimeoutMs = settings.callTimeoutMs;
    this.maxResultBytes = settings.maxResultBytes;
    this.graceMs = settings.graceMs;
    this.events = new Emitter((error, event) => {
      log({ level: "error", kind: "listener", message: `a listener of the event ${event} threw`, error });
    });
    const { isolation, concurrency: max } = settings;
    this.processes = openPool(jobs.values(), world, log, { ...isolation, max });
    const leaseMs = Math.min(...[...jobs.values()].map((job) => job.leaseMs));
    this.#contact = new StoreContact(world.clock, leaseMs);
    this.#renewer = openRenewer(settings.renewer, {
      world,
      log,
      spec: store.renewalThread,
      storeName: store.description,
      owner: this.owner,
      maxBlockedMs: settings.maxBlockedMs,
      renew: (fences, options) => store.renew(fences, options),
      contact: this.#contact,
    });
    const { renewer, maxBlockedMs, callTimeoutMs } = settings;
    this.#slots = new QueueSlots({ world, store, log, renewer, maxBlockedMs, callTimeoutMs });
    this.writer = new RunWriter(world, store, settings.callTimeoutMs, log);
    this.steps = new StepWriter(world, store, settings.callTimeoutMs);
    this.settler = new Settler(world, store, settings.callTimeoutMs, this.#contact, log);
    this.roster = new Roster(settings.concurrency);
    this.#ticker = new Ticker(world, (now) => this.#tick(now));
    this.claimer = new Claimer(world, store, this.roster, this.#contact, this, {
      owner: this.owner,
      queues: settings.queues,
      pollMs: settings.pollMs,
      callTimeoutMs: settings.callTimeoutMs,
    });
  }

  start(): void {
    this.claimer.poke();
  }

  // --- the claimer's questions and findings ---

  mayClaim(): boolean {
    this.#isFull = this.settler.backlog >= MAX_BACKLOG;
    return !this.#isFull;
  }

  claimed(reply: Claimed, sent: Instant): void {
    for (const { jobId: id, name, state, endReason } of reply.ended) {
      if (state === "cancelled") this.counts.cancelled++;
      else this.counts.failed++;
      this.events.emit("expired", { id, name, state, endReason });
    }
    const runs: Run[] = [];
    for (const claimed of reply.jobs) {
      const definition = this.#jobs.get(claimed.job.name);
      const run = new Run(claimed, definition, sent, this);
      this.#live++;
      this.#renewer.hold(run.lease);
      if (claimed.slot !== undefined) this.#slots.hold(run, claimed.slot, sent);
      if (definition === undefined) this.#releaseUnknown(run);
      else if (this.#stopping) run.release("stopping");
      else runs.push(run);
    }
    if (this.#live > 0) this.#ticker.start();
    this.roster.admit(runs);
    this.#startWaiting();
  }

  noneComes(): void {
    this.roster.start(0, this.world.clock.monotonicMs(), this.#live);
  }

  idle(nextDueInMs: number | undefined): void {
    if (this.events.has("idle")) this.events.emit("idle", { nextDueInMs });
    if (this.#live === 0) this.onQuiet?.();
  }

  failed(error: unknown): void {
    if (!this.#unreachable) this.events.emit("unreachable", { error });
    this.#unreachable = true;
    this.events.emit("error", { error, during: "claim" });
    this.#log({ level: "warning", kind: "claim_failed", message: "claiming failed; trying again", error });
    if (error instanceof SchemaVersionError || error instanceof StoreUnusableError) this.onHopeless?.(error);
  }

  answered(): void {
    if (this.#unreachable) this.events.emit("reachable", {});
    this.#unreachable = false;
  }

  async renewFirst(): Promise<void> {
    if (this.#live > 0) await Promise.all([this.#renewer.renewNow(), this.#slots.renewNow()]);
  }

  // --- what becomes of runs ---

  handlerEnded(run: Run): void {
    this.roster.ended(run);
    this.#startWaiting();
    if (this.#atEnd.length > 0) this.#tellEnd();
  }

  settle(run: Run): void {
    if (this.#closed) run.abandon();
    else this.settler.add(run);
  }

  done(run: Run, how: RunEnd): void {
    this.#live--;
    // An answer may come after the close: nothing is sent any more, the slot lapses.
    if (how === "abandoned" || this.#closed) this.#slots.leave(run);
    else this.#slots.release(run);
    if (how !== "abandoned") this.counts[how]++;
    if (this.#atEnd.length > 0) this.#tellEnd();
    const wasAlone = this.roster.isAlone;
    if (run.place < 0) this.roster.leave(run);
    if (this.roster.isAlone) this.noneComes();
    if (how !== "retried" && how !== "released") this.onEnded?.(run.fence.jobId);
    if (this.#stopping) return;
    if (this.#isFull && this.mayClaim()) this.claimer.wanted();
    // A suspect that never began (W8) has kept claims from being made, and no handler's end will ask for the next.
    if (wasAlone && !this.roster.isAlone) this.claimer.wanted();
    const { resource, uniqueKey } = run.claimed.job;
    if (how === "retried" || how === "released") this.#dueAgain(run);
    // What its end has freed may be due now; so may be what a drain has yet to look for.
    else if (resource !== null || uniqueKey !== null || (this.#live === 0 && this.onQuiet !== undefined)) {
      this.claimer.poke();
    }
  }

  stuck(run: Run, reason: EndOfTrust, runningMs: number): void {
    this.#slots.leave(run);
    this.events.emit("stuck", { job: run.ref, reason, runningMs });
    const { name, jobId } = run.claimed.job;
    const message = `${name} ${jobId} ignores its signal (${reason}) since ${Math.round(runningMs)} ms; its lease is left to lapse`;
    this.#log({ level: "warning", kind: "stuck", message });
    this.#startWaiting();
  }

  terminated(run: Run, reason: EndOfTrust, pid: number, runningMs: number): void {
    this.events.emit("terminated", { job: run.ref, reason, pid });
    const { name, jobId } = run.claimed.job;
    const message = `${name} ${jobId} ignored its signal (${reason}): its process ${pid} was terminated after ${Math.round(runningMs)} ms`;
    this.#log({ level: "warning", kind: "terminated", message });
  }

  drop(lease: HeldLease): void {
    this.#renewer.drop(lease);
  }

  limit(lease: HeldLease, untilMs: number): void {
    this.#renewer.limit(lease, untilMs);
    this.#slots.limit(lease.holder as Run, untilMs);
  }

  refresh(lease: HeldLease): void {
    this.#renewer.refresh(lease);
  }

  // --- stopping (W6) ---

  /** Claims nothing new and gives back what has not begun; renewal goes on. */
  async quiesce(): Promise<void> {
    this.#stopping = true;
    this.roster.stop();
    await this.claimer.stop();
  }

  /** Resolves when no handler runs. */
  async handlersEnded(): Promise<void> {
    while (this.roster.running.length > 0) await this.#handlerEnd();
  }

  /** Resolves when the store has answered for each run whose handler has ended, also for one whose writes go first. */
  async outcomesKnown(): Promise<void> {
    while (this.#live > this.roster.running.length) await this.#handlerEnd();
  }

  abortAll(): void {
    for (const run of [...this.roster.running]) run.abort("shutdown");
  }

  /** Ends the processes of isolated handlers that ignore their signals; resolves when their runs have ended. */
  async terminateIsolated(): Promise<void> {
    const left = (): readonly Run[] => this.roster.running.filter(({ isIsolated }) => isIsolated);
    for (const run of left()) run.terminate();
    while (left().length > 0) await this.#handlerEnd();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const run of [...this.roster.running]) run.leaveBehind();
    this.settler.abandon();
    this.#ticker.stop();
    await Promise.all([this.#renewer.close(), this.#slots.close(), this.processes?.close()]);
  }

  // ---

  #handlerEnd(): Promise<void> {
    return new Promise((resolve) => this.#atEnd.push(resolve));
  }

  #startWaiting(): void {
    this.roster.start(this.claimer.keeps, this.world.clock.monotonicMs(), this.#live);
    if (!this.#stopping) this.claimer.wanted();
  }

  #tick(now: Instant): boolean {
    this.roster.nowMs = now.monotonicMs;
    this.#renewer.tick(now);
    this.#slots.tick(now);
    // From the end: the last one takes the place of one that ends meanwhile, and has had its turn by then.
    const { running } = this.roster;
    for (let place = running.length - 1; place >= 0; place--) running[place]?.tick(now);
    return this.#live > 0;
  }

  #releaseUnknown(run: Run): void {
    const { name } = run.claimed.job;
    const times = this.#unknown.get(name) ?? 0;
    this.#unknown.set(name, times + 1);
    run.release("unknown_name", Math.min(UNKNOWN_FIRST_MS * 2 ** times, UNKNOWN_LONGEST_MS));
    const message = `no job named ${JSON.stringify(name)} was given to this worker; its jobs are put off`;
    this.#log({ level: "warning", kind: "unknown_name", message });
  }

  #dueAgain(run: Run): void {
    const { settlement } = run;
    const delayMs =
      settlement?.operation === "fail" && settlement.retryInMs !== "final"
        ? settlement.retryInMs
        : settlement?.operation === "release"
          ? settlement.delayMs
          : 0;
    if (delayMs > 0) this.claimer.dueIn(delayMs + 1);
    if (delayMs <= 0 || (this.#live === 0 && this.onQuiet !== undefined)) this.claimer.poke();
  }

  #tellEnd(): void {
    const told = this.#atEnd;
    this.#atEnd = [];
    for (const resolve of told) resolve();
  }
}
