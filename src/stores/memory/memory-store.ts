import type { Timers } from "../../clock/world.ts";
import type { ControlAnswer, HealAnswer, HealLeaseAnswer } from "../../protocol/control.ts";
import type { EnqueueAnswer, NewJob } from "../../protocol/enqueue.ts";
import type { Fence, FencingToken, Generation, JobId, Line, NamedFence } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { JournalEntry } from "../../protocol/journal.ts";
import type { QueueLimit } from "../../protocol/limit.ts";
import type { NamedLease, NamedLeaseRefusal } from "../../protocol/named-lease.ts";
import type { Refusal } from "../../protocol/outcome.ts";
import type { Renewed } from "../../protocol/renew.ts";
import type { SettledAnswer, Settlement } from "../../protocol/settle.ts";
import type { StepRecord, StepResolution, StepResolved } from "../../protocol/step.ts";
import { dueOf } from "../due.ts";
import type { ScheduleStore } from "../schedules.ts";
import { answered } from "../sleepers.ts";
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
  RunWrite,
  RunWriteAnswer,
  Store,
  Taker,
  Transaction,
  Tx,
} from "../store.ts";
import { claimJobs } from "./claiming.ts";
import { completeWith } from "./complete-with.ts";
import { enqueue } from "./enqueuing.ts";
import { limitQueue } from "./limits.ts";
import { acquireLease, deleteLease, healLease, releaseLease, renewLease } from "./named-leases.ts";
import { cancelJob, deleteJob, pauseQueue, prune, raiseFloor, retryJob, revokeJob } from "./operating.ts";
import { waitsOf } from "./order.ts";
import { countsOf, pageOf } from "./reading.ts";
import { healRun, outcomeOf, renewRun, settleRun, writeRun } from "./runs.ts";
import { type KeptSchedule, MemorySchedules } from "./schedules.ts";
import type { MemoryState } from "./state.ts";
import { StateKeeper } from "./state-keeper.ts";
import { resolveStepOf, stepsOf } from "./steps.ts";
import type { MemoryTransaction } from "./transaction.ts";

/**
 * The protocol core over a map: the reference that other stores are compared with, and a model for tests. Never a
 * product: nothing survives the process, and a claim looks at every job.
 */
export class MemoryStore implements Store {
  readonly description: string = "memory";
  readonly renewalThread: undefined;
  readonly schedules: ScheduleStore;
  readonly #keeper: StateKeeper;

  constructor(nowMs: () => number, timers: Timers) {
    this.#keeper = new StateKeeper(nowMs, timers);
    this.schedules = new MemorySchedules(this.#keeper);
  }

  async open(): Promise<void> {
    this.#keeper.assertOpen();
  }

  async close(): Promise<void> {
    this.#keeper.close();
  }

  async enqueue(
    jobs: readonly NewJob[],
    options: CallOptions & { readonly tx?: Transaction },
  ): Promise<readonly EnqueueAnswer[]> {
    const { tx } = options;
    if (tx === undefined) {
      return this.#keeper.write("enqueue", options, dueOf(jobs), (at) => enqueue(at, jobs));
    }
    this.#keeper.assertOpen();
    const at = { state: this.#keeper.own(tx).draft, nowMs: this.#keeper.nowMs() };
    return enqueue(at, jobs);
  }

  claim(request: ClaimRequest, options: CallOptions): Promise<Claimed> {
    return answered(this.#keeper.sleepers.asks(request), () =>
      this.#keeper.write("claim", options, "nothing", (at) => claimJobs(at, request)),
    );
  }

  renew(fences: readonly Fence[], options: CallOptions): Promise<readonly (Renewed | Refusal)[]> {
    return this.#keeper.write("renew", options, "nothing", (at) =>
      fences.map((fence) => renewRun(at, fence)),
    );
  }

  settle(
    settlements: readonly Settlement[],
    options: CallOptions,
  ): Promise<readonly (SettledAnswer | Refusal)[]> {
    return this.#keeper.write("settle", options, "anything", (at) =>
      settlements.map((settlement) => settleRun(at, settlement)),
    );
  }

  completeWith(fence: Fence, body: (tx: Tx) => Promise<string | null>, options: CallOptions): Promise<void> {
    return completeWith(this.#keeper, fence, body, options);
  }

  write(writes: readonly RunWrite[], options: CallOptions): Promise<readonly RunWriteAnswer[]> {
    return this.#keeper.write("write", options, "nothing", (at) =>
      writes.map((write) => writeRun(at, write)),
    );
  }

  outcome(fence: Fence, options: CallOptions): Promise<FenceOutcome> {
    // Through the lock, so that a transaction about to commit is waited for.
    return this.#keeper.write("outcome", options, "nothing", (at) => outcomeOf(at, fence));
  }

  heal(fence: Fence, mark: Generation, options: CallOptions): Promise<HealAnswer | Refusal> {
    return this.#keeper.write("heal", options, "anything", (at) => healRun(at, fence, mark));
  }

  cancel(ids: readonly JobId[], options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#keeper.write("cancel", options, "anything", (at) => ids.map((id) => cancelJob(at, id)));
  }

  revoke(
    ids: readonly JobId[],
    options: CallOptions,
  ): Promise<readonly (ControlAnswer & { readonly token?: FencingToken })[]> {
    return this.#keeper.write("revoke", options, "anything", (at) => ids.map((id) => revokeJob(at, id)));
  }

  retry(ids: readonly JobId[], again: boolean, options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#keeper.write("retry", options, "anything", (at) => ids.map((id) => retryJob(at, id, again)));
  }

  resolveStep(
    id: JobId,
    step: string,
    resolution: StepResolution,
    options: CallOptions,
  ): Promise<StepResolved> {
    return this.#keeper.write("resolve step", options, "nothing", (at) =>
      resolveStepOf(at, id, step, resolution),
    );
  }

  delete(ids: readonly JobId[], options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#keeper.write("delete", options, "anything", (at) => ids.map((id) => deleteJob(at, id)));
  }

  prune(
    ages: { readonly completedMs: number; readonly failedMs: number },
    limit: number,
    options: CallOptions,
  ): Promise<number> {
    return this.#keeper.write("prune", options, "nothing", (at) => prune(at, ages, limit));
  }

  acquire(request: AcquireRequest, options: CallOptions): Promise<AcquireAnswer> {
    return this.#keeper.write("acquire", options, "nothing", (at) => acquireLease(at, request));
  }

  renewLeases(
    fences: readonly NamedFence[],
    options: CallOptions,
  ): Promise<readonly (Renewed | NamedLeaseRefusal)[]> {
    return this.#keeper.write("renewLeases", options, "nothing", (at) =>
      fences.map((fence) => renewLease(at, fence)),
    );
  }

  release(
    fences: readonly NamedFence[],
    options: CallOptions,
  ): Promise<readonly ({ readonly outcome: "applied" } | NamedLeaseRefusal)[]> {
    return this.#keeper.write("release", options, "anything", (at) =>
      fences.map((fence) => releaseLease(at, fence)),
    );
  }

  healLease(
    fence: NamedFence,
    mark: Generation,
    options: CallOptions,
  ): Promise<HealLeaseAnswer | NamedLeaseRefusal> {
    return this.#keeper.write("healLease", options, "anything", (at) => healLease(at, fence, mark));
  }

  deleteLease(
    name: string,
    options: CallOptions,
  ): Promise<{ readonly outcome: "applied" | "conflict" | "gone" }> {
    return this.#keeper.write("deleteLease", options, "nothing", (at) => deleteLease(at, name));
  }

  async getLease(name: string): Promise<NamedLease | undefined> {
    return this.#keeper.state.leases.get(name);
  }

  async get(ids: readonly JobId[]): Promise<readonly (JobRecord | undefined)[]> {
    const { jobs } = this.#keeper.state;
    return ids.map((id) => jobs.get(id));
  }

  async list(filter: ListFilter, page: { readonly limit: number; readonly before?: number }): Promise<Page> {
    return pageOf(this.#keeper.state, filter, page);
  }

  async counts(): Promise<readonly QueueCounts[]> {
    return countsOf(this.#keeper.state, this.#keeper.nowMs());
  }

  async steps(id: JobId, run: number | "present"): Promise<readonly StepRecord[]> {
    return stepsOf(this.#keeper.state, id, run);
  }

  async journal(line: string): Promise<readonly JournalEntry[]> {
    return this.#keeper.state.journal.get(line as Line) ?? [];
  }

  async nowMs(): Promise<number> {
    this.#keeper.assertOpen();
    return this.#keeper.nowMs();
  }

  pause(queue: string, paused: boolean, options: CallOptions): Promise<void> {
    return this.#keeper.write("pause", options, "anything", (at) => pauseQueue(at, queue, paused));
  }

  limitQueue(queue: string, limit: QueueLimit | null, options: CallOptions): Promise<void> {
    return this.#keeper.write("limitQueue", options, "anything", (at) => limitQueue(at, queue, limit));
  }

  raiseFloor(options: CallOptions): Promise<{ readonly epoch: number }> {
    return this.#keeper.write("raiseFloor", options, "nothing", (at) => raiseFloor(at));
  }

  async pendingMigrations(): Promise<readonly { readonly version: number; readonly sql: string }[]> {
    return [];
  }

  readonly order: Order = {
    waits: async (id) => waitsOf(this.#keeper.state, id),
    batch: async (name) => this.#keeper.state.order.batches.get(name),
  };

  listen(onWake: () => void, taker?: Taker): Listener {
    return this.#keeper.sleepers.listen(onWake, taker);
  }

  /** A transaction of the caller's own: pass it as `tx` to `enqueue`. Until it ends, other writers wait. */
  begin(options: CallOptions): Promise<MemoryTransaction> {
    return this.#keeper.begin(options);
  }

  /** Runs `body` in a transaction: committed when it resolves, rolled back when it rejects. */
  async transaction<T>(body: (tx: MemoryTransaction) => Promise<T>, options: CallOptions): Promise<T> {
    const tx = await this.begin(options);
    try {
      const value = await body(tx);
      await tx.commit();
      return value;
    } finally {
      await tx.rollback();
    }
  }

  /** What a transaction wrote with `put`, once it is committed. */
  value(key: string): unknown {
    return this.#keeper.state.values.get(key);
  }

  /** For tests: a copy of all that is committed. */
  snapshot(): MemoryState {
    return this.#keeper.snapshot();
  }

  /** For tests: what is committed, itself and not a copy: to be looked at, and not to be kept over the next write. */
  peek(): MemoryState {
    return this.#keeper.state;
  }

  /** For tests: loses what was committed since, as a promoted standby or a restored copy does. The floor is not raised. */
  restore(snapshot: MemoryState): void {
    this.#keeper.restore(snapshot);
  }

  /** For tests: changes a job behind the protocol's back, such as to move its lease into the past. */
  tamper(id: JobId, change: (job: JobRecord) => JobRecord): void {
    const job = this.#keeper.state.jobs.get(id);
    if (job !== undefined) this.#keeper.state.jobs.set(id, change(job));
  }

  /** For tests: the same for a named lease. */
  tamperLease(name: string, change: (lease: NamedLease) => NamedLease): void {
    const lease = this.#keeper.state.leases.get(name);
    if (lease !== undefined) this.#keeper.state.leases.set(name, change(lease));
  }
  /** For tests: the same for a schedule. */
  tamperSchedule(name: string, change: (kept: KeptSchedule) => KeptSchedule): void {
    const kept = this.#keeper.state.schedules.get(name);
    if (kept !== undefined) this.#keeper.state.schedules.set(name, change(kept));
  }
}
