import { systemWorld } from "../clock/system.ts";
import type { World } from "../clock/world.ts";
import { ClosedError, InvalidArgumentError, UniqueConflictError } from "../errors.ts";
import type { BatchCounts, Waits } from "../protocol/blocking.ts";
import type { ControlAnswer } from "../protocol/control.ts";
import type { EnqueueAnswer, NewJob } from "../protocol/enqueue.ts";
import type { FencingToken, JobId } from "../protocol/identity.ts";
import type { JournalEntry } from "../protocol/journal.ts";
import { checkStepName, type StepResolution, type StepResolved } from "../protocol/step.ts";
import { checkMaxBytes, DEFAULT_MAX_INPUT_BYTES, resultText } from "../protocol/storable.ts";
import type { CallOptions, ListFilter, QueueCounts, Store, Transaction } from "../stores/store.ts";
import { drained } from "../worker/drain.ts";
import { Engine } from "../worker/engine.ts";
import type { RunCounts } from "../worker/events.ts";
import { WorkerInIsolationError } from "../worker/isolation/errors.ts";
import { isIsolatedProcess } from "../worker/isolation/inside.ts";
import { NamedLeases, type WithLeaseOptions } from "../worker/named-leases.ts";
import { Pruner, type Retention } from "../worker/pruner.ts";
import { Scheduler } from "../worker/scheduler.ts";
import { jobsByName, type WorkerOptions, workerSettings } from "../worker/settings.ts";
import { Worker } from "../worker/worker.ts";
import type { JobDefinition } from "./define-job.ts";
import type { Each, Enqueued, EnqueueEntry, EnqueueOptions, JobRef } from "./enqueued.ts";
import { Enqueuer } from "./enqueuer.ts";
import type { Lease } from "./handler.ts";
import { type JobView, jobView } from "./job-view.ts";
import { checkFunction, checkKnown } from "./known-options.ts";
import { lineOf } from "./lines.ts";
import { type Log, limited, stderrLog } from "./log.ts";
import { checkCount, checkName } from "./names.ts";
import { idOf, JOB_OPTIONS, newJob } from "./new-job.ts";
import { type BatchOption, batchOf, thenOf } from "./ordering.ts";
import { type QueueLimitOptions, queueLimit } from "./queue-limit.ts";
import { Results } from "./results.ts";
import type { AnySpec, ScheduleSpec } from "./schedule-spec.ts";
import { type Scheduled, Schedules } from "./schedules.ts";
import { type StepView, stepView } from "./step.ts";

export interface LeaseholdOptions {
  /** Where jobs and leases live; closed with this client. */
  readonly store: Store;
  /** Time, timers, randomness and ids; tests bring their own. */
  readonly world?: World;
  /** Told of warnings and errors. Default: a line each on stderr, at most one a second of a kind. */
  readonly log?: Log;
  /** How long one call to the store may take, ms. Default 5,000. */
  readonly callTimeoutMs?: number;
  /** The longest JSON text of an input or result, bytes. Default 1 MiB. */
  readonly maxInputBytes?: number;
  /** For how long ended jobs are kept, ms. Default: failed ones 30 days, others 7. */
  readonly retentionMs?: Partial<Retention>;
}

const LEASEHOLD_OPTIONS = new Set(["store", "world", "log", "callTimeoutMs", "maxInputBytes", "retentionMs"]);
const ENQUEUE_OPTIONS = new Set([...JOB_OPTIONS, "tx"]);
const ENQUEUE_MANY_OPTIONS = new Set(["tx", "batch"]);
const ENTRY_MEMBERS = new Set([...JOB_OPTIONS, "job", "input"]);
const WITH_LEASE_OPTIONS = new Set(["leaseMs", "waitMs", "signal", "renewer"]);
const DAY_MS = 86_400_000;
const IDS_PER_CALL = 500;

/** The door to one store: enqueue jobs, look at them, act on them, work on them. Many may share a store. */
export class Leasehold {
  readonly store: Store;
  /** The schedules of the store: list, pause, resume, run now, remove. `schedule` makes them. */
  readonly schedules: Schedules;
  readonly #world: World;
  readonly #log: Log;
  readonly #call: CallOptions;
  readonly #maxInputBytes: number;
  readonly #retention: Retention;
  readonly #enqueuer: Enqueuer;
  readonly #results: Results;
  readonly #leases: NamedLeases;
  readonly #workers = new Set<Worker>();
  #closing: Promise<void> | undefined;

  /** @throws {InvalidArgumentError} naming the option that cannot be used */
  constructor(options: LeaseholdOptions) {
    checkKnown("options", options, LEASEHOLD_OPTIONS);
    const { store, callTimeoutMs = 5_000, maxInputBytes = DEFAULT_MAX_INPUT_BYTES } = options;
    if (typeof store?.claim !== "function") {
      throw new InvalidArgumentError("store", store, "a store, such as sqlite(path) from leasehold/sqlite");
    }
    checkCount("callTimeoutMs", callTimeoutMs);
    checkMaxBytes(maxInputBytes);
    this.store = store;
    this.#world = options.world ?? systemWorld();
    this.#log = limited(options.log ?? stderrLog, this.#world.clock);
    this.#call = { timeoutMs: callTimeoutMs };
    this.#maxInputBytes = maxInputBytes;
    this.#retention = { completedMs: 7 * DAY_MS, failedMs: 30 * DAY_MS, ...options.retentionMs };
    this.#enqueuer = new Enqueuer(store, callTimeoutMs);
    this.schedules = new Schedules({
      world: this.#world,
      store,
      log: this.#log,
      call: this.#call,
      enqueuer: this.#enqueuer,
      maxInputBytes,
    });
    this.#results = new Results(this.#world, store, callTimeoutMs);
    this.#leases = new NamedLeases(this.#world, store, this.#log, callTimeoutMs);
  }

  /** Opens the store and migrates it; every other call does so when it is the first. */
  open(): Promise<void> {
    return this.store.open();
  }

  // --- enqueue ---

  /**
   * Hands one job to the store (C1). When it resolves the job is there, or, with `tx`, will be when that commits.
   *
   * @throws {SchemaMismatchError | UnstorableValueError | InvalidArgumentError} nothing was written
   * @throws {UniqueConflictError} the key is taken, and `onConflict` is `"throw"`
   * @throws {UnknownOutcomeError} no answer, twice: it may be there; repeating the call with a `jobId` is safe
   */
  async enqueue<Input, Result>(
    job: JobDefinition<Input, Result>,
    ...[input, options = {}]: undefined extends Input
      ? [input?: Input, options?: EnqueueOptions]
      : [input: Input, options?: EnqueueOptions]
  ): Promise<Enqueued<Result>> {
    this.#assertOpen();
    checkKnown("options", options, ENQUEUE_OPTIONS);
    const { tx } = options;
    const made = newJob(job as JobDefinition, input, options, this.#world, this.#maxInputBytes);
    const row = made instanceof Promise ? await made : made;
    const answer =
      tx === undefined ? await this.#enqueuer.one(row) : (await this.#enqueuer.many([row], tx))[0];
    if (answer === undefined) throw new Error("The store answered for no job.");
    if (answer.outcome === "conflict") {
      throw new UniqueConflictError(job.name, row.unique?.key ?? "", answer.jobId, answer.state);
    }
    return answer;
  }

  /**
   * Hands many jobs to the store, an answer for each in their order. All are checked before any is sent. With `tx` all
   * are written or none; without, each call of up to 1,000 is a transaction of its own, so after an error repeat the
   * whole with the same `jobId`s. A taken key with `onConflict: "throw"` is an answer here, `conflict`: others go in.
   *
   * With `batch`, the jobs that are new become its members (see `batch()`).
   *
   * @throws {UnknownJobError} a job is to run after one that is neither there nor comes before it
   * @throws {BatchSealedError} the batch has its `then` already
   */
  async enqueueMany<const Jobs extends readonly JobDefinition[], Then extends JobDefinition = JobDefinition>(
    entries: { readonly [Index in keyof Jobs]: EnqueueEntry<Jobs[Index]> },
    options: { readonly tx?: Transaction; readonly batch?: BatchOption<Then> } = {},
  ): Promise<EnqueueAnswer[]> {
    this.#assertOpen();
    checkKnown("options", options, ENQUEUE_MANY_OPTIONS);
    const batch = batchOf(options.batch as BatchOption | undefined);
    const rows: NewJob[] = [];
    for (const [i, entry] of (entries as readonly EnqueueEntry[]).entries()) {
      const made = this.#newJob(`entries[${i}]`, entry);
      const row = made instanceof Promise ? await made : made;
      rows.push(batch === undefined ? row : { ...row, batch: { name: batch.name, as: "member" } });
    }
    const then = batch?.then === undefined ? undefined : await this.#newJob("batch.then", batch.then);
    if (batch === undefined || then === undefined) return this.#enqueuer.many(rows, options.tx);
    // In the last call, so that all members are there; its own answer is told by `batch()`.
    const answers = await this.#enqueuer.many([...rows, thenOf(then, batch.name)], options.tx);
    return answers.slice(0, rows.length);
  }

  #newJob(where: string, entry: EnqueueEntry): NewJob | Promise<NewJob> {
    checkKnown(where, entry, ENTRY_MEMBERS);
    return newJob(entry.job, entry.input, entry, this.#world, this.#maxInputBytes, `${where}.input`);
  }

  // --- schedule ---

  /**
   * Makes a schedule known, or changes it: from the store's present time on, a job is enqueued for each of its slots by
   * whichever worker comes first, with the input and options that are given and computed here. A definition that has not
   * changed writes nothing, so programs may call this at each start; a worker never does so by itself.
   *
   * Each slot is enqueued once. Its job is a job like any other: it may run more than once, and two runs may overlap.
   * When two releases make different definitions known, that of the higher `version` stays; without versions the last.
   *
   * @throws {InvalidArgumentError | SchemaMismatchError | UnstorableValueError} nothing was written
   * @throws {UnknownOutcomeError} no answer: repeat the call
   */
  async schedule<Input, Result, const Member extends string = never>(
    name: string,
    spec: ScheduleSpec<Input, Result, Member>,
  ): Promise<Scheduled> {
    this.#assertOpen();
    return this.schedules.put(name, spec as unknown as AnySpec);
  }

  // --- look ---

  /** The job, live or ended; undefined when there is none of this id (any more). */
  async get(job: JobRef): Promise<JobView | undefined> {
    return (await this.getMany([job]))[0];
  }

  async getMany(jobs: readonly JobRef[]): Promise<(JobView | undefined)[]> {
    const records = await this.#each(jobs, (ids) => this.store.get(ids, this.#call));
    return records.map((record) => record && jobView(record));
  }

  /** Newest first. Pass the answer's `before` for the next page; it is undefined after the last. */
  async list(
    filter: ListFilter = {},
    page: { readonly limit?: number; readonly before?: number } = {},
  ): Promise<{ readonly jobs: readonly JobView[]; readonly before: number | undefined }> {
    const { limit = 100, before } = page;
    checkCount("limit", limit);
    const found = await this.store.list(
      filter,
      before === undefined ? { limit } : { limit, before },
      this.#call,
    );
    return { jobs: found.jobs.map(jobView), before: found.before };
  }

  /** How many jobs of each queue are in which state. */
  counts(): Promise<readonly QueueCounts[]> {
    return this.store.counts(this.#call);
  }

  /** The steps of a job's present run number, in the order in which they began; none for no job. */
  async steps(job: JobRef): Promise<readonly StepView[]> {
    this.#assertOpen();
    const id = idOf(job);
    const steps = await this.store.steps(id, "present", this.#call);
    const [record] = await this.store.get([id], this.#call);
    return record === undefined ? [] : steps.map((step) => stepView(record, step));
  }

  /** What a batch has come to; undefined when there is none of this name (any more). */
  batch(name: string): Promise<BatchCounts | undefined> {
    checkName("batch", name);
    return this.store.order.batch(name, this.#call);
  }

  /** What a job waits for, and which batch it belongs to; undefined when there is no such job (any more). */
  waits(job: JobRef): Promise<Waits | undefined> {
    return this.store.order.waits(idOf(job), this.#call);
  }

  /** What happened to the lease of a job (its id) or of any line (`lease:nightly-report`), oldest first. */
  async journal(jobOrLine: JobRef): Promise<readonly JournalEntry[]> {
    return this.store.journal(lineOf(jobOrLine), this.#call);
  }

  /**
   * Waits until the job has ended, and resolves to what it returned (`undefined` for nothing).
   *
   * @param options `timeoutMs`: how long at most; default: no limit
   * @throws {JobNotCompletedError} it ended as failed or cancelled; the cause is the stored error
   * @throws {WaitTimeoutError} it goes on
   * @throws {GoneError} there is no such job (any more)
   */
  async result<Result = unknown>(
    job: JobRef<Result>,
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Result> {
    this.#assertOpen();
    return (await this.#results.wait(idOf(job), options.timeoutMs, options.signal)) as Result;
  }

  // --- act (C13, C14, C18); each takes one job or several ---

  /** A waiting job ends; a running one's handler hears of it with the next renewal, and the answer says `pending`. */
  cancel<Refs extends JobRef | readonly JobRef[]>(jobs: Refs): Promise<Each<Refs, ControlAnswer>> {
    return this.#act(jobs, (ids) => this.store.cancel(ids, this.#call));
  }

  /** Takes the job from its owner, who is stale from now on; `token` may be advanced at the job's destinations. */
  revoke<Refs extends JobRef | readonly JobRef[]>(
    jobs: Refs,
  ): Promise<Each<Refs, ControlAnswer & { readonly token?: FencingToken }>> {
    return this.#act(jobs, (ids) => this.store.revoke(ids, this.#call));
  }

  /** Sets an ended job to `ready`. `again`: finished effects are done anew, under a new run number. */
  retry<Refs extends JobRef | readonly JobRef[]>(
    jobs: Refs,
    options: { readonly again?: boolean } = {},
  ): Promise<Each<Refs, ControlAnswer>> {
    return this.#act(jobs, (ids) => this.store.retry(ids, options.again ?? false, this.#call));
  }

  /**
   * Says what became of a step that is unknown, or failed: done, with its result, or not done, so that the next attempt
   * runs it. The job itself stays as it is: `retry` it then. Refused as `conflict` while the job is leased, and for a done step.
   *
   * @throws {UnstorableValueError} nothing was written
   */
  async resolveStep(
    job: JobRef,
    step: string,
    resolution: { readonly done: true; readonly result?: unknown } | { readonly done: false },
  ): Promise<StepResolved> {
    this.#assertOpen();
    checkStepName(step);
    if (typeof resolution?.done !== "boolean")
      throw new InvalidArgumentError("resolution", resolution, "{ done: true, result } or { done: false }");
    const found: StepResolution = resolution.done
      ? { done: true, result: resultText(resolution.result, this.#maxInputBytes) }
      : { done: false };
    return this.store.resolveStep(idOf(job), step, found, this.#call);
  }

  /** Removes the job with its history and steps; never one that is leased. */
  delete<Refs extends JobRef | readonly JobRef[]>(jobs: Refs): Promise<Each<Refs, ControlAnswer>> {
    return this.#act(jobs, (ids) => this.store.delete(ids, this.#call));
  }

  /** Claims skip the queue from now on; what runs goes on. */
  async pauseQueue(queue: string): Promise<void> {
    checkName("queue", queue);
    await this.store.pause(queue, true, this.#call);
  }

  async resumeQueue(queue: string): Promise<void> {
    checkName("queue", queue);
    await this.store.pause(queue, false, this.#call);
  }

  /**
   * Limits how many of the queue's jobs run at once, and begin within a length of time, over all workers and until it is
   * changed; null takes the limit away. What runs goes on. What has to wait keeps its place and its attempts.
   *
   * A run that is paused for longer than its lease gives its slot to the next one as it gives its job, and may wake up
   * beside it: a limit is kept as leases are, and is no mutual exclusion.
   *
   * @throws {InvalidArgumentError} nothing was written
   */
  async limitQueue(queue: string, limit: QueueLimitOptions | null): Promise<void> {
    checkName("queue", queue);
    await this.store.limitQueue(queue, queueLimit(limit), this.#call);
  }

  // --- work ---

  /** Starts to claim and run these jobs, until the worker is stopped or this client closed. */
  work(jobs: readonly JobDefinition[], options: WorkerOptions = {}): Worker {
    const pruner = new Pruner(this.#world, this.store, this.#log, this.#retention, this.#call.timeoutMs);
    const engine = this.#engine(jobs, options);
    if (options.schedules === false) return this.#worker(engine, pruner);
    const { timeoutMs } = this.#call;
    const scheduler = new Scheduler(this.#world, this.store, engine.events, this.#log, timeoutMs);
    return this.#worker(engine, pruner, scheduler);
  }

  /**
   * Runs these jobs until nothing is due for them and nothing runs here; resolves to what became of the runs. Delayed
   * jobs, and those that other workers hold, are not waited for.
   *
   * @param options as for `work`; `signal` ends it early, with a graceful stop
   */
  async drain(
    jobs: readonly JobDefinition[],
    options: WorkerOptions & { readonly signal?: AbortSignal } = {},
  ): Promise<RunCounts> {
    const engine = this.#engine(jobs, options);
    return drained(this.#worker(engine), engine, options.signal);
  }

  /**
   * Calls `fn` while this process holds the named lease, then gives it up. `fn` decides how it ends: what it returns or
   * throws comes out, also when the lease was lost meanwhile; `lease.signal` fires then, and `lease.state` says so.
   * A lease is temporary: give every effect `lease.token`.
   *
   * @throws {LeaseHeldError} somebody else held it for all of `waitMs`
   */
  withLease<Result>(
    name: string,
    options: WithLeaseOptions,
    fn: (lease: Lease) => Promise<Result> | Result,
  ): Promise<Result> {
    checkKnown("options", options, WITH_LEASE_OPTIONS);
    checkFunction("fn", fn);
    return this.#leases.with(name, options, fn);
  }

  /** Stops the workers, gives up the leases, closes the store. Closing twice is fine. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.all([...[...this.#workers].map((worker) => worker.stop()), this.#leases.close()]);
    this.#results.close(new ClosedError("Leasehold"));
    await this.store.close();
  }

  #engine(jobs: readonly JobDefinition[], options: WorkerOptions): Engine {
    this.#assertOpen();
    if (isIsolatedProcess()) throw new WorkerInIsolationError();
    const byName = jobsByName(jobs);
    const shared = { callTimeoutMs: this.#call.timeoutMs, maxResultBytes: this.#maxInputBytes };
    const engine = new Engine(
      this.store,
      this.#world,
      this.#log,
      byName,
      workerSettings(byName, options, shared),
    );
    engine.onEnded = (id) => this.#results.ended(id);
    return engine;
  }

  #worker(engine: Engine, pruner?: Pruner, scheduler?: Scheduler): Worker {
    const deaf = scheduler === undefined ? undefined : this.schedules.onChange(() => scheduler.poke());
    const worker = new Worker(engine, pruner, scheduler, (stopped) => {
      deaf?.();
      this.#workers.delete(stopped);
    });
    this.#workers.add(worker);
    return worker;
  }

  async #act<Refs extends JobRef | readonly JobRef[], Answer>(
    jobs: Refs,
    call: (ids: readonly JobId[]) => Promise<readonly Answer[]>,
  ): Promise<Each<Refs, Answer>> {
    const several = typeof jobs === "object" && Array.isArray(jobs);
    const answers = await this.#each(several ? jobs : [jobs as JobRef], call);
    return (several ? answers : answers[0]) as Each<Refs, Answer>;
  }

  async #each<Answer>(
    jobs: readonly JobRef[],
    call: (ids: readonly JobId[]) => Promise<readonly Answer[]>,
  ): Promise<Answer[]> {
    this.#assertOpen();
    const ids = jobs.map(idOf);
    const answers: Answer[] = [];
    for (let start = 0; start < ids.length; start += IDS_PER_CALL) {
      answers.push(...(await call(ids.slice(start, start + IDS_PER_CALL))));
    }
    return answers;
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ClosedError("Leasehold");
  }
}
