import type { Timers } from "../../clock/world.ts";
import { ClosedError, InvalidTransactionError } from "../../errors.ts";
import { type Due, Sleepers } from "../sleepers.ts";
import type { CallOptions, Transaction } from "../store.ts";
import { draftOf, emptyState, type MemoryState, type Moment } from "./state.ts";
import { MemoryTransaction } from "./transaction.ts";
import { WriteLock } from "./write-lock.ts";

/** Keeps the one state: who may write it when, at what store time, and who is told afterwards. */
export class StateKeeper {
  readonly sleepers: Sleepers;
  readonly #clockMs: () => number;
  readonly #lock: WriteLock;
  readonly #transactions = new WeakSet<object>();
  #state: MemoryState = emptyState();
  #closed = false;

  constructor(clockMs: () => number, timers: Timers) {
    this.#clockMs = clockMs;
    this.#lock = new WriteLock(timers);
    this.sleepers = new Sleepers(timers);
  }

  close(): void {
    this.#closed = true;
  }

  assertOpen(): void {
    if (this.#closed) throw new ClosedError("The memory store");
  }

  nowMs(): number {
    return this.#clockMs();
  }

  /** What is committed. */
  get state(): MemoryState {
    this.assertOpen();
    return this.#state;
  }

  /** A copy of what is committed. */
  snapshot(): MemoryState {
    return draftOf(this.state);
  }

  /** What was committed since is lost, as in a server that was promoted before it had received it. */
  restore(snapshot: MemoryState): void {
    this.assertOpen();
    this.#state = draftOf(snapshot);
  }

  /** One write, over within its turn once it has the lock. @param due what it may have made due */
  async write<T>(
    operation: string,
    options: CallOptions,
    due: Due | "nothing",
    apply: (at: Moment) => T,
  ): Promise<T> {
    this.assertOpen();
    await this.#lock.acquire(operation, options.timeoutMs);
    try {
      const answer = apply({ state: this.#state, nowMs: this.nowMs() });
      if (due !== "nothing") this.sleepers.ringAll(due);
      return answer;
    } finally {
      this.#lock.release();
    }
  }

  async begin(options: CallOptions): Promise<MemoryTransaction> {
    this.assertOpen();
    await this.#lock.acquire("begin", options.timeoutMs);
    const draft = draftOf(this.#state);
    const tx = new MemoryTransaction(draft, (commit) => {
      if (commit) this.#state = draft;
      this.#lock.release();
      if (commit) this.sleepers.wakeAll();
    });
    this.#transactions.add(tx);
    return tx;
  }

  /** @throws {InvalidTransactionError} when `tx` is not an open transaction of this very store */
  own(tx: Transaction): MemoryTransaction {
    if (!(tx instanceof MemoryTransaction) || !this.#transactions.has(tx)) {
      throw new InvalidTransactionError("The `tx` given is not a transaction of this memory store.", {
        next: "Give what its begin() or transaction() gave.",
      });
    }
    tx.assertOpen();
    return tx;
  }
}
