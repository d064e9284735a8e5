import { createHash } from "node:crypto";
import { systemWorld } from "../../clock/system.ts";
import type { World } from "../../clock/world.ts";
import { ClosedError } from "../../errors.ts";
import type { ControlAnswer, HealAnswer, HealLeaseAnswer } from "../../protocol/control.ts";
import type { EnqueueAnswer, NewJob } from "../../protocol/enqueue.ts";
import type { Fence, FencingToken, Generation, JobId, Line, NamedFence } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { JournalEntry } from "../../protocol/journal.ts";
import type { QueueLimit } from "../../protocol/limit.ts";
import type { NamedLease, NamedLeaseRefusal } from "../../protocol/named-lease.ts";
import type { Busy, Refusal } from "../../protocol/outcome.ts";
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
import { type ConnectionName, describeAddress } from "./address.ts";
import type { Bell } from "./bell.ts";
import { completeWith } from "./body.ts";
import { Calls } from "./calls.ts";
import { type ClaimMemory, claim } from "./claim.ts";
import { whenCommitted } from "./commits.ts";
import type { Call, Connections, OpenTransaction } from "./connections.ts";
import { type Ages, cancel, deleteJobs, heal, Pruner, retry, revoke } from "./control.ts";
import { enqueue } from "./enqueue.ts";
import { areNew, enqueueNew } from "./enqueue-new.ts";
import { raiseFloor } from "./floor.ts";
import { Hints } from "./hints.ts";
import { readJournal } from "./journal.ts";
import { acquire, deleteLease, healLease, release } from "./leases.ts";
import { limitQueue } from "./limits.ts";
import { readMoment } from "./moment.ts";
import { DEFAULT_SWEEP_MS, type PostgresOptions } from "./options.ts";
import { readBatch, readWaits } from "./order.ts";
import { OrderSweep } from "./order-sweep.ts";
import { countQueues, getJobs, listJobs, outcomeOf } from "./read.ts";
import { explain, explainNamed } from "./refusals.ts";
import { renew, renewLeases } from "./renew.ts";
import { PostgresSchedules } from "./schedules.ts";
import { settle, write } from "./settle.ts";
import { loadStatements, type Migration } from "./sql.ts";
import { Texts } from "./statements.ts";
import { readSteps, resolveStep } from "./steps.ts";
import { type Place, storeBell } from "./store-bell.ts";
import { StoreTime } from "./store-time.ts";
import { Sweep } from "./sweep.ts";
import { callersTransaction } from "./transaction.ts";
import { findLease } from "./transition.ts";
import { WalkPace } from "./walk-pace.ts";

/** The store for many machines: one PostgreSQL schema. */
export class PostgresStore implements Store {
  readonly description: string;
  readonly renewalThread: RenewalThreadSpec | undefined;
  readonly schedules: ScheduleStore = new PostgresSchedules({
    transaction: (operation, options, fn) => this.#calls.transaction(operation, options, fn),
    read: (operation, options, fn) => this.#calls.read(operation, options, fn),
    dueNow: () => this.#dueNow(),
  });
  readonly #world: World;
  readonly #texts: Texts;
  readonly #memory: ClaimMemory;
  readonly #hints: Hints;
  readonly #pruner = new Pruner();
  readonly #orderSweep = new OrderSweep();
  readonly #queues = new Set<string>();
  readonly #place: Place;
  readonly #bell: Bell;
  readonly #calls: Calls;
  #closed = false;

  /** @param as what its pool's connections are called, and where its warnings go */
  constructor(
    options: PostgresOptions,
    schema: string,
    renewalThread: RenewalThreadSpec | undefined,
    as: { readonly name: ConnectionName; readonly warn: Warn } = { name: "leasehold", warn: warnings },
  ) {
    this.#world = options.world ?? systemWorld();
    this.#texts = new Texts(loadStatements(schema), options.trace);
    const pace = new WalkPace(options.sweepMs ?? DEFAULT_SWEEP_MS);
    const { clock } = this.#world;
    const time = new StoreTime(clock);
    this.#hints = new Hints(clock, pace);
    this.#memory = {
      sweep: new Sweep(clock, pace, time, this.#orderSweep),
      hints: this.#hints,
      time,
      onSwept: () => this.#dueNow("anything", true),
      onRing: (fn) => this.#bell.onRing(fn),
    };
    // No name of a user's becomes a channel's: it is hashed.
    const hash = createHash("sha256").update(schema).digest("hex").slice(0, 16);
    this.#place = { channel: `leasehold_${hash}`, me: this.#world.ids.jobId().slice(-12) };
    const store = describeAddress(options, schema);
    const shared = { options, store, world: this.#world, warn: as.warn };
    this.#calls = new Calls({ ...shared, schema, name: as.name, texts: this.#texts });
    this.#bell = storeBell({
      ...shared,
      calls: this.#calls,
      place: this.#place,
      onTold: () => this.#hints.forget(),
    });
    this.description = store;
    this.renewalThread = renewalThread;
  }

  async open(): Promise<void> {
    await this.#calls.opened();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([this.#bell.close(), this.#calls.close()]);
  }

  async enqueue(
    jobs: readonly NewJob[],
    options: CallOptions & { readonly tx?: Transaction },
  ): Promise<readonly EnqueueAnswer[]> {
    if ("tx" in options && options.tx !== undefined) return this.#enqueueIn(options.tx, jobs, options);
    return this.#calls.with("enqueue", options, async (connections, call) => {
      if (jobs.length === 0) return [];
      const missing = this.#unknownQueues(jobs);
      if (missing.length > 0) {
        await connections.on(call).rows("add queues", [JSON.stringify(missing)]);
        for (const name of missing) this.#queues.add(name);
      }
      const due = dueOf(jobs);
      if (areNew(jobs)) {
        const payload = this.#bell.tellsWithCommit(due);
        const told = payload === undefined ? undefined : { channel: this.#place.channel, payload };
        const answers = await enqueueNew(connections.on(call), jobs, told);
        if (answers !== undefined) {
          this.#dueNow(due, told !== undefined);
          return answers;
        }
      }
      const answers = await connections.transaction(call, (sql) => enqueue(sql, jobs));
      if (answers.some(({ outcome }) => outcome === "repeated")) await connections.waitForStandby(call);
      if (jobs.some(({ batch }) => batch != null)) await this.#afterEnds(connections, call);
      this.#dueNow(due);
      return answers;
    });
  }

  async #enqueueIn(
    tx: Transaction,
    jobs: readonly NewJob[],
    options: CallOptions,
  ): Promise<readonly EnqueueAnswer[]> {
    return this.#calls.with("enqueue", options, async (connections) => {
      const sql = await callersTransaction(tx, this.#texts);
      if (jobs.length === 0) return [];
      // In the caller's transaction too: a pool with one connection has no other to spare.
      const missing = this.#unknownQueues(jobs);
      if (missing.length > 0) await sql.rows("add queues", [JSON.stringify(missing)]);
      const answers = await enqueue(sql, jobs);
      void whenCommitted(connections, this.#world, sql.id, () => this.#dueNow(dueOf(jobs))).catch(() => {});
      return answers;
    });
  }

  #unknownQueues(jobs: readonly NewJob[]): string[] {
    return [...new Set(jobs.map(({ queue }) => queue))].filter((name) => !this.#queues.has(name));
  }

  claim(request: ClaimRequest, options: CallOptions): Promise<Claimed> {
    return answered(this.#bell.asks(request), () =>
      this.#calls.with("claim", options, (connections, call) =>
        claim(connections, call, request, this.#memory),
      ),
    );
  }

  renew(fences: readonly Fence[], options: CallOptions): Promise<readonly (Renewed | Refusal | Busy)[]> {
    return this.#calls.with("renew", options, (connections, call) => renew(connections.on(call), fences));
  }

  async settle(
    settlements: readonly Settlement[],
    options: CallOptions,
  ): Promise<readonly (SettledAnswer | Refusal | Busy)[]> {
    const { answers, madeDue } = await this.#calls.with("settle", options, async (connections, call) => {
      const batch = await settle(connections, call, settlements);
      if (batch.wasAwaited) await this.#afterEnds(connections, call);
      return batch;
    });
    if (madeDue) this.#dueNow();
    return answers;
  }

  async completeWith(
    fence: Fence,
    body: (tx: Tx) => Promise<string | null>,
    options: CallOptions,
  ): Promise<void> {
    await this.#calls.with("complete", options, async (connections, call) => {
      const { isAwaited } = await completeWith(connections, call, fence, body);
      if (isAwaited) await this.#afterEnds(connections, call);
    });
    this.#dueNow();
  }

  write(writes: readonly RunWrite[], options: CallOptions): Promise<readonly RunWriteAnswer[]> {
    return this.#calls.with("write", options, (connections, call) => write(connections, call, writes));
  }

  outcome(fence: Fence, options: CallOptions): Promise<FenceOutcome> {
    return this.#calls.with("outcome", options, async (connections, call) => {
      const found = await connections.transaction(call, (sql) => outcomeOf(sql, fence));
      if (found.outcome === "settled") await connections.waitForStandby(call);
      return found;
    });
  }

  async heal(fence: Fence, mark: Generation, options: CallOptions): Promise<HealAnswer | Refusal | Busy> {
    const answer = await this.#calls.transaction("heal", options, (sql) => heal(sql, fence, mark));
    this.#dueNow();
    if (answer !== undefined) return answer;
    const explained = await this.#calls.with("heal", options, (connections, call) =>
      explain(connections.on(call), [{ fence, operation: "heal" }], "heal"),
    );
    return explained[0] as Refusal | Busy;
  }

  cancel(ids: readonly JobId[], options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#makingDue("cancel", options, (sql) => cancel(sql, ids));
  }

  revoke(
    ids: readonly JobId[],
    options: CallOptions,
  ): Promise<readonly (ControlAnswer & { readonly token?: FencingToken })[]> {
    return this.#makingDue("revoke", options, (sql) => revoke(sql, ids, this.#world.ids.owner));
  }

  retry(ids: readonly JobId[], again: boolean, options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#makingDue("retry", options, (sql) => retry(sql, ids, again));
  }

  resolveStep(
    id: JobId,
    step: string,
    resolution: StepResolution,
    options: CallOptions,
  ): Promise<StepResolved> {
    return this.#calls.transaction("resolve step", options, (sql) => resolveStep(sql, id, step, resolution));
  }

  delete(ids: readonly JobId[], options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#makingDue("delete", options, (sql) => deleteJobs(sql, ids));
  }

  prune(ages: Ages, limit: number, options: CallOptions): Promise<number> {
    return this.#calls.with("prune", options, (connections, call) =>
      this.#pruner.run(connections.on(call), ages, limit),
    );
  }

  async acquire(request: AcquireRequest, options: CallOptions): Promise<AcquireAnswer> {
    for (;;) {
      const answer = await this.#calls.transaction("acquire", options, (sql) => acquire(sql, request));
      if (answer !== undefined) return answer;
    }
  }

  renewLeases(
    fences: readonly NamedFence[],
    options: CallOptions,
  ): Promise<readonly (Renewed | NamedLeaseRefusal | Busy)[]> {
    return this.#calls.with("renew", options, (connections, call) =>
      renewLeases(connections.on(call), fences),
    );
  }

  async release(
    fences: readonly NamedFence[],
    options: CallOptions,
  ): Promise<readonly ({ readonly outcome: "applied" } | NamedLeaseRefusal | Busy)[]> {
    if (fences.length === 0) return [];
    const released = await this.#makingDue("release", options, (sql) => release(sql, fences));
    const refused = fences.filter((fence) => !released.has(fence));
    const explained = await this.#calls.with("release", options, (connections, call) =>
      explainNamed(connections.on(call), refused, "release"),
    );
    return fences.map((fence) =>
      released.has(fence)
        ? { outcome: "applied" }
        : (explained[refused.indexOf(fence)] as NamedLeaseRefusal | Busy),
    );
  }

  async healLease(
    fence: NamedFence,
    mark: Generation,
    options: CallOptions,
  ): Promise<HealLeaseAnswer | NamedLeaseRefusal | Busy> {
    const answer = await this.#makingDue("heal", options, (sql) => healLease(sql, fence, mark));
    if (answer !== undefined) return answer;
    const explained = await this.#calls.with("heal", options, (connections, call) =>
      explainNamed(connections.on(call), [fence], "heal"),
    );
    return explained[0] as NamedLeaseRefusal | Busy;
  }

  deleteLease(
    name: string,
    options: CallOptions,
  ): Promise<{ readonly outcome: "applied" | "conflict" | "gone" }> {
    return this.#calls.transaction("delete lease", options, (sql) => deleteLease(sql, name));
  }

  getLease(name: string, options: CallOptions): Promise<NamedLease | undefined> {
    return this.#calls.read("get lease", options, (sql) => findLease(sql, name));
  }

  get(ids: readonly JobId[], options: CallOptions): Promise<readonly (JobRecord | undefined)[]> {
    return this.#calls.read("get", options, (sql) => getJobs(sql, ids));
  }

  list(
    filter: ListFilter,
    page: { readonly limit: number; readonly before?: number },
    options: CallOptions,
  ): Promise<Page> {
    return this.#calls.read("list", options, (sql) => listJobs(sql, filter, page));
  }

  counts(options: CallOptions): Promise<readonly QueueCounts[]> {
    return this.#calls.read("counts", options, countQueues);
  }

  steps(id: JobId, run: number | "present", options: CallOptions): Promise<readonly StepRecord[]> {
    return this.#calls.read("steps", options, (sql) => readSteps(sql, id, run));
  }

  journal(line: string, options: CallOptions): Promise<readonly JournalEntry[]> {
    return this.#calls.read("journal", options, (sql) => readJournal(sql, line as Line));
  }

  async nowMs(options: CallOptions): Promise<number> {
    return (await this.#calls.read("now", options, readMoment)).nowMs;
  }

  async pause(queue: string, paused: boolean, options: CallOptions): Promise<void> {
    await this.#makingDue("pause", options, (sql) => sql.rows("pause queue", [queue, paused]));
  }

  async limitQueue(queue: string, limit: QueueLimit | null, options: CallOptions): Promise<void> {
    await this.#makingDue("limit", options, (sql) => limitQueue(sql, queue, limit));
  }

  raiseFloor(options: CallOptions): Promise<{ readonly epoch: number }> {
    return this.#calls.transaction("raise floor", options, (sql) => raiseFloor(sql, "always"));
  }

  /** Looks at the database without migrating it. */
  async pendingMigrations(): Promise<readonly Migration[]> {
    return this.#calls.migrator(await this.#calls.pool()).pending();
  }

  readonly order: Order = {
    waits: (id, options) => this.#calls.read("waits", options, (sql) => readWaits(sql, id)),
    batch: (name, options) => this.#calls.read("batch", options, (sql) => readBatch(sql, name)),
  };

  /** What a sweep would do for batches and for those who wait, at once; what fails here is left to it. */
  async #afterEnds(connections: Connections, call: Call): Promise<void> {
    await this.#orderSweep.run(connections, call).catch(() => {});
  }

  listen(onWake: () => void, taker?: Taker): Listener {
    if (this.#closed) throw new ClosedError("The store");
    return this.#bell.listen(onWake, taker);
  }

  async #makingDue<T>(
    operation: string,
    options: CallOptions,
    fn: (sql: OpenTransaction) => Promise<T>,
  ): Promise<T> {
    const answer = await this.#calls.transaction(operation, options, fn);
    this.#dueNow();
    return answer;
  }

  // --- wake-ups ---------------------------------------------------------------------------------------------------

  /** What has become due may stand before the hint. */
  #dueNow(due: Due = "anything", isTold = false): void {
    this.#hints.forget();
    if (!this.#closed) this.#bell.ring(due, isTold);
  }
}
