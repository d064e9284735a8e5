import {
  AlreadySettledError,
  ClosedError,
  GoneError,
  InvalidTransactionError,
  type LeaseholdError,
  StaleLeaseError,
} from "../../errors.ts";
import type { Timers } from "../../clock/world.ts";
import type { ControlAnswer, HealAnswer } from "../../protocol/control.ts";
import type { EnqueueAnswer, NewJob } from "../../protocol/enqueue.ts";
import { type Fence, type FencingToken, type Generation, type JobId, jobLine, type Line } from "../../protocol/identity.ts";
import type { NamedFence } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { JournalEntry } from "../../protocol/journal.ts";
import type { NamedLease, NamedLeaseRefusal } from "../../protocol/named-lease.ts";
import type { Refusal } from "../../protocol/outcome.ts";
import type { Renewed } from "../../protocol/renew.ts";
import type { SettledAnswer, Settlement } from "../../protocol/settle.ts";
import type {
  AcquireAnswer,
  AcquireRequest,
  CallOptions,
  Claimed,
  ClaimRequest,
  FenceOutcome,
  ListFilter,
  Listener,
  Page,
  QueueCounts,
  RunWrite,
  RunWritten,
  Store,
  Transaction,
  Tx,
} from "../store.ts";
import { claimJobs } from "./claiming.ts";
import { enqueue } from "./enqueuing.ts";
import { noteRefusal } from "./journal.ts";
import { acquireLease, deleteLease, releaseLease, renewLease } from "./named-leases.ts";
import { cancelJob, deleteJob, pauseQueue, prune, raiseFloor, retryJob, revokeJob } from "./operating.ts";
import { countsOf, pageOf } from "./reading.ts";
import { healRun, outcomeOf, renewRun, settleRun, writeRun } from "./runs.ts";
import { draftOf, emptyState, type MemoryState, type Moment } from "./state.ts";
import { MemoryTransaction } from "./transaction.ts";
import { WakeUps } from "./wake-ups.ts";
import { WriteLock } from "./write-lock.ts";

/**
 * The protocol core over a map: the reference that other stores are compared with, and a model for tests. Never a
 * product: nothing survives the process, and a claim looks at every job.
 */
export class MemoryStore implements Store {
  readonly description: string = "memory";
  readonly renewalThread: undefined;
  readonly #nowMs: () => number;
  readonly #lock: WriteLock;
  readonly #wakeUps = new WakeUps();
  #state: MemoryState = emptyState();
  #closed = false;

  constructor(nowMs: () => number, timers: Timers) {
    this.#nowMs = nowMs;
    this.#lock = new WriteLock(timers);
  }

  async open(): Promise<void> {
    this.#assertOpen();
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  async enqueue(
    jobs: readonly NewJob[],
    options: CallOptions & { readonly tx?: Transaction },
  ): Promise<readonly EnqueueAnswer[]> {
    this.#assertOpen();
    const { tx } = options;
    if (tx === undefined) {
      return this.#write("enqueue", options, "wakes", (at) => jobs.map((job) => enqueue(at, job)));
    }
    const { draft } = this.#ownTransaction(tx);
    return jobs.map((job) => enqueue({ state: draft, nowMs: this.#nowMs() }, job));
  }

  claim(request: ClaimRequest, options: CallOptions): Promise<Claimed> {
    return this.#write("claim", options, "quiet", (at) => claimJobs(at, request));
  }

  renew(fences: readonly Fence[], options: CallOptions): Promise<readonly (Renewed | Refusal)[]> {
    return this.#write("renew", options, "quiet", (at) => fences.map((fence) => renewRun(at, fence)));
  }

  settle(settlements: readonly Settlement[], options: CallOptions): Promise<readonly (SettledAnswer | Refusal)[]> {
    return this.#write("settle", options, "wakes", (at) => settlements.map((settlement) => settleRun(at, settlement)));
  }

  async completeWith(fence: Fence, body: (tx: Tx) => Promise<string | null>, options: CallOptions): Promise<void> {
    const tx = await this.begin(options);
    try {
      const result = await body(tx);
      tx.assertOpen();
      const nowMs = this.#nowMs();
      const answer = settleRun({ state: tx.draft, nowMs }, { operation: "complete", fence, result });
      if (answer.outcome === "applied") return await tx.commit();
      // On the state itself: the note of a refusal must outlive the draft.
      noteRefusedCompletion({ state: this.#state, nowMs }, fence, answer);
      throw refusedError(answer, fence);
    } finally {
      await tx.rollback();
    }
  }

  write(writes: readonly RunWrite[], options: CallOptions): Promise<readonly (RunWritten | Refusal)[]> {
    return this.#write("write", options, "quiet", (at) => writes.map((write) => writeRun(at, write)));
  }

  outcome(fence: Fence, options: CallOptions): Promise<FenceOutcome> {
    // Through the lock, so that a transaction about to commit is waited for.
    return this.#write("outcome", options, "quiet", (at) => outcomeOf(at, fence));
  }

  heal(fence: Fence, mark: Generation, options: CallOptions): Promise<HealAnswer | Refusal> {
    return this.#write("heal", options, "wakes", (at) => healRun(at, fence, mark));
  }

  cancel(ids: readonly JobId[], options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#write("cancel", options, "quiet", (at) => ids.map((id) => cancelJob(at, id)));
  }

  revoke(
    ids: readonly JobId[],
    options: CallOptions,
  ): Promise<readonly (ControlAnswer & { readonly token?: FencingToken })[]> {
    return this.#write("revoke", options, "wakes", (at) => ids.map((id) => revokeJob(at, id)));
  }

  retry(ids: readonly JobId[], again: boolean, options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#write("retry", options, "wakes", (at) => ids.map((id) => retryJob(at, id, again)));
  }

  delete(ids: readonly JobId[], options: CallOptions): Promise<readonly ControlAnswer[]> {
    return this.#write("delete", options, "quiet", (at) => ids.map((id) => deleteJob(at, id)));
  }

  prune(
    ages: { readonly completedMs: number; readonly failedMs: number },
    limit: number,
    options: CallOptions,
  ): Promise<number> {
    return this.#write("prune", options, "quiet", (at) => prune(at, ages, limit));
  }

  acquire(request: AcquireRequest, options: CallOptions): Promise<AcquireAnswer> {
    return this.#write("acquire", options, "quiet", (at) => acquireLease(at, request));
  }

  renewLeases(fences: readonly NamedFence[], options: CallOptions): Promise<readonly (Renewed | NamedLeaseRefusal)[]> {
    return this.#write("renewLeases", options, "quiet", (at) => fences.map((fence) => renewLease(at, fence)));
  }

  release(
    fences: readonly NamedFence[],
    options: CallOptions,
  ): Promise<readonly ({ readonly outcome: "applied" } | NamedLeaseRefusal)[]> {
    return this.#write("release", options, "wakes", (at) => fences.map((fence) => releaseLease(at, fence)));
  }

  deleteLease(name: string, options: CallOptions): Promise<{ readonly outcome: "applied" | "conflict" | "gone" }> {
    return this.#write("deleteLease", options, "quiet", (at) => deleteLease(at, name));
  }

  async getLease(name: string): Promise<NamedLease | undefined> {
    return this.#read().leases.get(name);
  }

  async get(ids: readonly JobId[]): Promise<readonly (JobRecord | undefined)[]> {
    const { jobs } = this.#read();
    return ids.map((id) => jobs.get(id));
  }

  async list(filter: ListFilter, page: { readonly limit: number; readonly before?: number }): Promise<Page> {
    return pageOf(this.#read(), filter, page);
  }

  async counts(): Promise<readonly QueueCounts[]> {
    return countsOf(this.#read(), this.#nowMs());
  }

  async journal(line: string): Promise<readonly JournalEntry[]> {
    return this.#read().journal.get(line as Line) ?? [];
  }

  async nowMs(): Promise<number> {
    this.#assertOpen();
    return this.#nowMs();
  }

  pause(queue: string, paused: boolean, options: CallOptions): Promise<void> {
    return this.#write("pause", options, "wakes", (at) => pauseQueue(at, queue, paused));
  }

  raiseFloor(options: CallOptions): Promise<{ readonly epoch: number }> {
    return this.#write("raiseFloor", options, "quiet", (at) => raiseFloor(at));
  }

  async pendingMigrations(): Promise<readonly { readonly version: number; readonly sql: string }[]> {
    return [];
  }

  listen(onWake: () => void): Listener {
    return this.#wakeUps.listen(onWake);
  }

  /** A transaction of the caller's own: pass it as `tx` to `enqueue`. Until it ends, other writers wait. */
  async begin(options: CallOptions): Promise<MemoryTransaction> {
    await this.#enter("begin", options);
    const draft = draftOf(this.#state);
    return new MemoryTransaction(draft, (commit) => {
      if (commit) this.#state = draft;
      this.#lock.release();
      if (commit) this.#wakeUps.wake();
    });
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
    return this.#read().values.get(key);
  }

  /** For tests: changes a job behind the protocol's back, such as to move its lease into the past. */
  tamper(id: JobId, change: (job: JobRecord) => JobRecord): void {
    const job = this.#state.jobs.get(id);
    if (job !== undefined) this.#state.jobs.set(id, change(job));
  }

  /** For tests: the same for a named lease. */
  tamperLease(name: string, change: (lease: NamedLease) => NamedLease): void {
    const lease = this.#state.leases.get(name);
    if (lease !== undefined) this.#state.leases.set(name, change(lease));
  }

  async #write<T>(
    operation: string,
    options: CallOptions,
    kind: "wakes" | "quiet",
    apply: (at: Moment) => T,
  ): Promise<T> {
    await this.#enter(operation, options);
    try {
      const answer = apply({ state: this.#state, nowMs: this.#nowMs() });
      if (kind === "wakes") this.#wakeUps.wake();
      return answer;
    } finally {
      this.#lock.release();
    }
  }

  async #enter(operation: string, options: CallOptions): Promise<void> {
    this.#assertOpen();
    await this.#lock.acquire(operation, options.timeoutMs);
  }

  #read(): MemoryState {
    this.#assertOpen();
    return this.#state;
  }

  #ownTransaction(tx: Transaction): MemoryTransaction {
    if (!(tx instanceof MemoryTransaction)) {
      throw new InvalidTransactionError("The `tx` given is not a transaction of the memory store.", {
        next: "Give what its begin() or transaction() gave.",
      });
    }
    tx.assertOpen();
    return tx;
  }

  #assertOpen(): void {
    if (this.#closed) throw new ClosedError("The memory store");
  }
}

function noteRefusedCompletion(at: Moment, fence: Fence, answer: Refusal): void {
  if (answer.outcome === "stale") noteRefusal(at, jobLine(fence.jobId), fence, answer.generation, "complete");
}

function refusedError(answer: Refusal, fence: Fence): LeaseholdError {
  if (answer.outcome === "already") return new AlreadySettledError(fence, "complete");
  if (answer.outcome === "gone") return new GoneError(`Job ${fence.jobId}`);
  const token = { line: jobLine(fence.jobId), generation: fence.generation };
  return new StaleLeaseError(token, answer.generation, answer.reason, "complete");
}
