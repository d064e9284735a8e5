import { systemWorld } from "../../clock/system.ts";
import type { World } from "../../clock/world.ts";
import { ClosedError, InvalidTransactionError } from "../../errors.ts";
import type { ControlAnswer, HealAnswer, HealLeaseAnswer } from "../../protocol/control.ts";
import type { EnqueueAnswer, NewJob } from "../../protocol/enqueue.ts";
import { nextEpoch } from "../../protocol/floor.ts";
import type { Fence, FencingToken, Generation, JobId, Line, NamedFence } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { JournalEntry } from "../../protocol/journal.ts";
import { type QueueLimit, sooner } from "../../protocol/limit.ts";
import type { NamedLease, NamedLeaseRefusal } from "../../protocol/named-lease.ts";
import type { Refusal } from "../../protocol/outcome.ts";
import type { Renewed } from "../../protocol/renew.ts";
import type { SettledAnswer, Settlement } from "../../protocol/settle.ts";
import type { StepRecord, StepResolution, StepResolved } from "../../protocol/step.ts";
import { dueOf } from "../due.ts";
import type { ScheduleStore } from "../schedules.ts";
import { answered, type Due } from "../sleepers.ts";
import type {
  AcquireAnswer,
  AcquireRequest,
  CallOptions,
  Claimed,
  ClaimRequest,
  FenceOutcome,
  Listener,
  ListFilter,
  Order,
  Page,
  QueueCounts,
  RenewalThreadSpec,
  RunWrite,
  RunWriteAnswer,
  Store,
  Taker,
  Transaction,
  Tx,
} from "../store.ts";
import { type Warn, warnings } from "../warnings.ts";
import { Bell } from "./bell.ts";
import { Bodies } from "./body.ts";
import { claim, lookFor } from "./claim.ts";
import { Connection } from "./connection.ts";
import { type Ages, cancel, deleteJobs, heal, Pruner, retry, revoke } from "./control.ts";
import type { Database } from "./driver.ts";
import { enqueue } from "./enqueue.ts";
import { readJournal } from "./journal.ts";
import { acquire, deleteLease, healLease, release } from "./leases.ts";
import { limitQueue } from "./limits.ts";
import { pendingMigrations } from "./migrate.ts";
import { readMoment } from "./moment.ts";
import { inspect, openDatabase } from "./open.ts";
import { DEFAULT_SWEEP_MS, type SqliteOptions } from "./options.ts";
import { readBatch, readWaits } from "./order.ts";
import { countQueues, getJobs, listJobs, outcomeOf } from "./read.ts";
import { renew, renewLeases } from "./renew.ts";
import { SqliteSchedules } from "./schedules.ts";
import { settle, write } from "./settle.ts";
import { loadStatements, type Migration } from "./sql.ts";
import { Statements } from "./statements.ts";
import { readSteps, resolveStep } from "./steps.ts";
import { Sweep } from "./sweep.ts";
import { callersStatements, whenCommitted } from "./transaction.ts";
import { findLease } from "./transition.ts";

interface Opened {
  readonly database: Database;
  readonly connection: Connection;
  readonly bodies: Bodies;
}

/** The embedded store: several processes on one machine, one file, no server. */
export class SqliteStore implements Store {
  readonly description: string;
  readonly renewalThread: RenewalThreadSpec | undefined;
  readonly schedules: ScheduleStore = new SqliteSchedules({
    write: (operation, options, fn) => this.#write(operation, options, fn),
    read: (operation, fn) => this.#read(operation, fn),
    ring: () => this.#ring(),
  });
  readonly #options: SqliteOptions;
  readonly #path: string;
  readonly #world: World;
  readonly #texts: ReadonlyMap<string, string> = loadStatements();
  readonly #sweep: Sweep;
  readonly #pruner = new Pruner();
  readonly #warn: Warn;
  #bell: Bell | undefined;
  #opening: Promise<Opened> | undefined;
  #closed = false;

  /** @param path the file's absolute path, or `:memory:` */
  constructor(
    options: SqliteOptions,
    path: string,
    renewalThread: RenewalThreadSpec | undefined,
    warn: Warn = warnings,
  ) {
    this.#options = options;
    this.#warn = warn;
    this.#path = path;
    this.#world = options.world ?? systemWorld();
    this.#sweep = new Sweep(this.#world.clock, options.sweepMs ?? DEFAULT_SWEEP_MS);
    this.description = `sqlite ${path}`;
    this.renewalThread = renewalThread;
  }

  async open(): Promise<void> {
    await this.#opened();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#bell?.close();
    const opened = await this.#opening?.catch(() => undefined);
    opened?.connection.close(this.#options.database === undefined);
  }

  async enqueue(
    jobs: readonly NewJob[],
    options: CallOptions & { readonly tx?: Transaction },
  ): Promise<readonly EnqueueAnswer[]> {
    if (options.tx === undefined) {
      const answers = await this.#write("enqueue", options, (statements) => enqueue(statements, jobs));
      this.#ring(dueOf(jobs));
      return answers;
    }
    await this.#openedInTransaction();
    const statements = callersStatements(options.tx, this.#path, this.#texts, this.#options.trace);
    const answers = enqueue(statements, jobs);
    whenCommitted(options.tx, this.#world.timers, () => this.#ring(dueOf(jobs)));
    return answers;
  }

  claim(request: ClaimRequest, options: CallOptions): Promise<Claimed> {
    return answered(this.#itsBell.asks(request), () => this.#claim(request, options));
  }

  async #claim(request: ClaimRequest, options: CallOptions): Promise<Claimed> {
    const { connection } = await this.#opened();
    // An idle worker must not take the write lock, so it looks first.
    const look = await connection.read("claim", (statements) => lookFor(statements, request, this.#sweep));
    if (!look.some) return { jobs: [], ended: [], nextDueInMs: look.nextDueInMs };
    return connection.writeLeases("claim", options.timeoutMs, (statements) => {
      const moment = readMoment(statements);
      const ended = look.sweep ? this.#sweep.run(statements, request.queues, moment) : [];
      const { jobs, isCutShort, allowedInMs } = claim(statements, request, moment);
      const nextDueInMs = isCutShort ? 0 : sooner(look.nextDueInMs, allowedInMs);
      return { jobs, ended, nextDueInMs };
    });
  }

  renew(fences: readonly Fence[], options: CallOptions): Promise<readonly (Renewed | Refusal)[]> {
    return this.#writeLeases("renew", options, (statements) => renew(statements, fences));
  }

  async settle(
    settlements: readonly Settlement[],
    options: CallOptions,
  ): Promise<readonly (SettledAnswer | Refusal)[]> {
    const { answers, madeDue } = await this.#write("settle", options, (statements) =>
      settle(statements, settlements),
    );
    if (madeDue) this.#ring();
    return answers;
  }

  async completeWith(
    fence: Fence,
    body: (tx: Tx) => Promise<string | null>,
    options: CallOptions,
  ): Promise<void> {
    const { bodies } = await this.#opened();
    await bodies.complete(fence, body, options);
    this.#ring();
  }

  write(writes: readonly RunWrite[], options: CallOptions): Promise<readonly RunWriteAnswer[]> {
    return this.#write("write", options, (statements) => write(statements, writes));
  }

  outcome(fence: Fence, options: CallOptions): Promise<FenceOutcome> {
    return this.#write("outcome", options, (statements) => outcomeOf(statements, fence));
  }

  heal(fence: Fence, mark: Generation, options: CallOptions): Promise<HealAnswer | Refusal> {
    return this.#ringingAfter("heal", options, (statements) => heal(statements, fence, mark));
  }

  cancel(ids: readonly JobId[], options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#ringingAfter("cancel", options, (statements) => cancel(statements, ids));
  }

  revoke(
    ids: readonly JobId[],
    options: CallOptions,
  ): Promise<readonly (ControlAnswer & { readonly token?: FencingToken })[]> {
    return this.#ringingAfter("revoke", options, (statements) =>
      revoke(statements, ids, this.#world.ids.owner),
    );
  }

  retry(ids: readonly JobId[], again: boolean, options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#ringingAfter("retry", options, (statements) => retry(statements, ids, again));
  }

  resolveStep(
    id: JobId,
    step: string,
    resolution: StepResolution,
    options: CallOptions,
  ): Promise<StepResolved> {
    return this.#write("resolve step", options, (statements) =>
      resolveStep(statements, id, step, resolution),
    );
  }

  delete(ids: readonly JobId[], options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#ringingAfter("delete", options, (statements) => deleteJobs(statements, ids));
  }

  prune(ages: Ages, limit: number, options: CallOptions): Promise<number> {
    return this.#write("prune", options, (statements) => this.#pruner.run(statements, ages, limit));
  }

  acquire(request: AcquireRequest, options: CallOptions): Promise<AcquireAnswer> {
    return this.#writeLeases("acquire", options, (statements) => acquire(statements, request));
  }

  renewLeases(
    fences: readonly NamedFence[],
    options: CallOptions,
  ): Promise<readonly (Renewed | NamedLeaseRefusal)[]> {
    return this.#writeLeases("renew", options, (statements) => renewLeases(statements, fences));
  }

  release(
    fences: readonly NamedFence[],
    options: CallOptions,
  ): Promise<readonly ({ readonly outcome: "applied" } | NamedLeaseRefusal)[]> {
    return this.#ringingAfter("release", options, (statements) => release(statements, fences));
  }

  healLease(
    fence: NamedFence,
    mark: Generation,
    options: CallOptions,
  ): Promise<HealLeaseAnswer | NamedLeaseRefusal> {
    return this.#ringingAfter("heal", options, (statements) => healLease(statements, fence, mark));
  }

  deleteLease(
    name: string,
    options: CallOptions,
  ): Promise<{ readonly outcome: "applied" | "conflict" | "gone" }> {
    return this.#write("delete lease", options, (statements) => deleteLease(statements, name));
  }

  getLease(name: string, _options: CallOptions): Promise<NamedLease | undefined> {
    return this.#read("get lease", (statements) => findLease(statements, name));
  }

  get(ids: readonly JobId[], _options: CallOptions): Promise<readonly (JobRecord | undefined)[]> {
    return this.#read("get", (statements) => getJobs(statements, ids));
  }

  list(
    filter: ListFilter,
    page: { readonly limit: number; readonly before?: number },
    _options: CallOptions,
  ): Promise<Page> {
    return this.#read("list", (statements) => listJobs(statements, filter, page));
  }

  counts(_options: CallOptions): Promise<readonly QueueCounts[]> {
    return this.#read("counts", countQueues);
  }

  steps(id: JobId, run: number | "present", _options: CallOptions): Promise<readonly StepRecord[]> {
    return this.#read("steps", (statements) => readSteps(statements, id, run));
  }

  journal(line: string, _options: CallOptions): Promise<readonly JournalEntry[]> {
    return this.#read("journal", (statements) => readJournal(statements, line as Line));
  }

  nowMs(_options: CallOptions): Promise<number> {
    return this.#read("now", (statements) => readMoment(statements).nowMs);
  }

  pause(queue: string, paused: boolean, options: CallOptions): Promise<void> {
    return this.#ringingAfter("pause", options, (statements) => {
      statements.run("pause queue", { name: queue, paused: paused ? 1 : 0 });
    });
  }

  limitQueue(queue: string, limit: QueueLimit | null, options: CallOptions): Promise<void> {
    return this.#ringingAfter("limit", options, (statements) => limitQueue(statements, queue, limit));
  }

  raiseFloor(options: CallOptions): Promise<{ readonly epoch: number }> {
    return this.#write("raise floor", options, (statements) => {
      const moment = readMoment(statements);
      const epoch = nextEpoch(moment.epoch, moment.nowMs);
      statements.run("raise epoch", { epoch });
      return { epoch };
    });
  }

  /** Looks at the file without migrating it. */
  async pendingMigrations(): Promise<readonly Migration[]> {
    return inspect(this.#options, this.#path, (database) => pendingMigrations(database, this.#path));
  }

  readonly order: Order = {
    waits: (id) => this.#read("waits", (statements) => readWaits(statements, id)),
    batch: (name) => this.#read("batch", (statements) => readBatch(statements, name)),
  };

  listen(onWake: () => void, taker?: Taker): Listener {
    if (this.#closed) throw new ClosedError("The store");
    return this.#itsBell.listen(onWake, taker);
  }

  #opened(): Promise<Opened> {
    if (this.#closed) return Promise.reject(new ClosedError("The store"));
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined; // the next call tries again: what was wrong may have been put right
      throw error;
    });
    return this.#opening;
  }

  /** To make the schema would need the lock that the caller's open transaction holds: the two would wait for each other. */
  async #openedInTransaction(): Promise<Opened> {
    if (this.#opening === undefined && (await this.pendingMigrations()).length > 0) {
      throw new InvalidTransactionError(`${this.description} has no schema yet, and tx holds its lock.`, {
        next: "Call await leasehold.open() once before you begin the transaction.",
      });
    }
    return this.#opened();
  }

  async #open(): Promise<Opened> {
    const database = await openDatabase(this.#options, this.#path, this.#texts, this.#world, this.#warn);
    const statements = new Statements(database, this.#texts, this.#options.trace);
    const connection = new Connection(database, this.#path, this.#world, statements);
    return { database, connection, bodies: new Bodies(connection) };
  }

  async #write<T>(operation: string, options: CallOptions, fn: (statements: Statements) => T): Promise<T> {
    const { connection } = await this.#opened();
    return connection.write(operation, options.timeoutMs, fn);
  }

  async #writeLeases<T>(
    operation: string,
    options: CallOptions,
    fn: (statements: Statements) => T,
  ): Promise<T> {
    const { connection } = await this.#opened();
    return connection.writeLeases(operation, options.timeoutMs, fn);
  }

  async #read<T>(operation: string, fn: (statements: Statements) => T): Promise<T> {
    const { connection } = await this.#opened();
    return connection.read(operation, fn);
  }

  async #ringingAfter<T>(
    operation: string,
    options: CallOptions,
    fn: (statements: Statements) => T,
  ): Promise<T> {
    const answer = await this.#write(operation, options, fn);
    this.#ring();
    return answer;
  }

  /** A store that only enqueues rings as well: it makes the bell when it first needs it. */
  #ring(due: Due = "anything"): void {
    if (!this.#closed) this.#itsBell.ring(due);
  }

  get #itsBell(): Bell {
    const { timers, random } = this.#world;
    this.#bell ??= new Bell(this.#path === ":memory:" ? undefined : `${this.#path}-bell`, timers, random);
    return this.#bell;
  }
}
