import type { World } from "../../clock/world.ts";
import { ClosedError, StoreBusyError } from "../../errors.ts";
import type { Database, Statement } from "./driver.ts";
import { afterCommit, definite, HandleInUse, isBusy } from "./failure.ts";
import type { Statements } from "./statements.ts";

/** How long transactions may follow each other in one turn of the event loop, ms. */
const TURN_BUDGET_MS = 5;

/** Shorter than any lease is trusted (T2), longer than a transaction takes: what took so long has stood still in between, ms. */
const STOOD_STILL_MS = 150;

/** How often waiters for the write lock look again, ms: this much, and as much again at random. */
const LOCK_RETRY_MS = 1;

/**
 * One database handle and the write lock on its file. A transaction is a synchronous function, so it never spans a turn
 * of the event loop. The lock is waited for here and not in SQLite (busy timeout 0): its own handler blocks the loop
 * for as long, and can starve one of two busy processes.
 */
export class Connection {
  readonly statements: Statements;
  readonly #database: Database;
  readonly #path: string;
  readonly #world: World;
  #begin: Statement | undefined;
  #commitment: Statement | undefined;
  #closed = false;
  #turnBeganMs: number | undefined;
  /** While set, a body of `completeWith` has the handle's transaction open; everyone else waits for it. */
  #occupied: Promise<void> | undefined;

  constructor(database: Database, path: string, world: World, statements: Statements) {
    this.#database = database;
    this.#path = path;
    this.#world = world;
    this.statements = statements;
  }

  /** Runs `fn` in a transaction of its own that holds the write lock from the start. */
  async write<T>(operation: string, timeoutMs: number, fn: (statements: Statements) => T): Promise<T> {
    return this.#begun(operation, timeoutMs, () => this.#finish(operation, fn));
  }

  /**
   * The same for what writes how long a lease lasts. A process that stands still between reading the time and its commit
   * would write a lease that has ended already, and lose the attempt with it; so `fn` is then undone and done again, once.
   */
  async writeLeases<T>(operation: string, timeoutMs: number, fn: (statements: Statements) => T): Promise<T> {
    const first = await this.#begun(operation, timeoutMs, () => this.#finishUnlessLate(operation, fn));
    return first === undefined ? this.write(operation, timeoutMs, fn) : first.result;
  }

  /** Runs `fn` over what is committed now. */
  async read<T>(operation: string, fn: (statements: Statements) => T): Promise<T> {
    while (this.#occupied !== undefined) await this.#occupied;
    if (this.#closed) throw new ClosedError("The store");
    try {
      return fn(this.statements);
    } catch (error) {
      throw definite(error, operation, this.#path);
    }
  }

  /**
   * A transaction in which other code runs until the end of this turn of the event loop, never longer. `start` is
   * called with the lock held; `end` when the turn is over, and what it leaves is committed.
   */
  async occupy(operation: string, timeoutMs: number, start: () => void, end: () => void): Promise<void> {
    const askedMs = this.#world.clock.monotonicMs();
    for (;;) {
      while (this.#occupied !== undefined) await this.#occupied;
      const problem = await this.#occupyTurn(operation, start, end);
      if (problem === undefined) return;
      await this.#waitForLock(problem, operation, askedMs, timeoutMs);
    }
  }

  /**
   * Two callbacks that are asked for together follow each other with nothing but promises between them: no timer, no
   * I/O. So what is still pending when the second begins waits for something other than this transaction.
   *
   * @returns what kept the transaction from beginning
   */
  #occupyTurn(operation: string, start: () => void, end: () => void): Promise<unknown> {
    let problem: unknown;
    this.#occupied = new Promise((resolve, reject) => {
      this.#world.timers.nextTurn(() => {
        problem = this.#closed ? new ClosedError("The store") : this.#tryBegin();
        if (problem === undefined) start();
      });
      this.#world.timers.nextTurn(() => {
        this.#occupied = undefined;
        try {
          if (problem === undefined) this.#finish(operation, end);
          resolve();
        } catch (error) {
          reject(error);
        }
      });
    });
    const over = this.#occupied;
    this.#occupied = over.catch(() => {}); // whoever waits for the handle does not care how this ended
    return over.then(() => problem);
  }

  /** @param andHandle false when the handle is the caller's to close */
  close(andHandle: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    if (andHandle) this.#database.close();
  }

  /** Takes the write lock and calls `then` at once: nothing else may run between the two. */
  async #begun<T>(operation: string, timeoutMs: number, then: () => T): Promise<T> {
    const askedMs = this.#world.clock.monotonicMs();
    if (this.#turnBeganMs !== undefined && askedMs - this.#turnBeganMs > TURN_BUDGET_MS)
      await this.#nextTurn();
    for (;;) {
      while (this.#occupied !== undefined) await this.#occupied;
      if (this.#closed) throw new ClosedError("The store");
      const problem = this.#tryBegin();
      if (problem === undefined) return then();
      await this.#waitForLock(problem, operation, askedMs, timeoutMs);
    }
  }

  async #waitForLock(problem: unknown, operation: string, askedMs: number, timeoutMs: number): Promise<void> {
    if (!isBusy(problem)) throw definite(problem, operation, this.#path);
    const waitedMs = this.#world.clock.monotonicMs() - askedMs;
    if (waitedMs >= timeoutMs) throw new StoreBusyError(operation, waitedMs, problem);
    await this.#world.timers.sleep(LOCK_RETRY_MS + 2 * this.#world.random.next());
  }

  #tryBegin(): unknown {
    // A caller who gave us the handle may have a transaction of its own open on it: we wait for its end.
    if (this.#database.isTransaction === true)
      return new HandleInUse("The handle is in a transaction of its owner's.");
    try {
      this.#begin ??= this.#database.prepare("begin immediate");
      this.#begin.run();
      this.#noteTurn();
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #finish<T>(operation: string, fn: (statements: Statements) => T): T {
    const result = this.#carriedOut(operation, fn);
    this.#commit(operation);
    return result;
  }

  #finishUnlessLate<T>(
    operation: string,
    fn: (statements: Statements) => T,
  ): { readonly result: T } | undefined {
    const beganMs = this.#world.clock.monotonicMs();
    const result = this.#carriedOut(operation, fn);
    if (this.#world.clock.monotonicMs() - beganMs > STOOD_STILL_MS) {
      this.#rollBack();
      return undefined;
    }
    this.#commit(operation);
    return { result };
  }

  #carriedOut<T>(operation: string, fn: (statements: Statements) => T): T {
    try {
      const result = fn(this.statements);
      this.#world.reached("in-store-transaction");
      return result;
    } catch (error) {
      this.#rollBack();
      throw definite(error, operation, this.#path);
    }
  }

  #commit(operation: string): void {
    try {
      this.#commitment ??= this.#database.prepare("commit");
      this.#commitment.run();
    } catch (error) {
      this.#rollBack();
      throw afterCommit(error, operation, this.#path);
    }
  }

  #rollBack(): void {
    try {
      this.#database.exec("rollback");
    } catch {
      // SQLite had rolled back on its own; the error that led here is the one to be told.
    }
  }

  #nextTurn(): Promise<void> {
    return new Promise((resolve) => this.#world.timers.nextTurn(resolve));
  }

  #noteTurn(): void {
    if (this.#turnBeganMs !== undefined) return;
    this.#turnBeganMs = this.#world.clock.monotonicMs();
    this.#world.timers.nextTurn(() => {
      this.#turnBeganMs = undefined;
    });
  }
}
