/** Transactions on the caller's handle, none of which is open for longer than one turn of the event loop. */

import type { World } from "../../clock/world.ts";
import {
  InvalidTransactionError,
  StoreBusyError,
  TransactionBodyError,
  UnknownOutcomeError,
} from "../../errors.ts";
import { durably, type GuardDatabase, type GuardStatement, isBusy, isDefinite } from "./database.ts";

/** The body's view of the transaction; of no use once the body is over. */
export interface GuardTx {
  /** `$1`, `$2` … stand for `params`. Inside the body the handle itself may be used as well: it is the same transaction. */
  query<Row = Record<string, unknown>>(text: string, params?: readonly unknown[]): Promise<{ rows: Row[] }>;
}

export class OpenTx implements GuardTx {
  readonly #database: GuardDatabase;
  isOpen = true;

  constructor(database: GuardDatabase) {
    this.#database = database;
  }

  async query<Row>(text: string, params: readonly unknown[] = []): Promise<{ rows: Row[] }> {
    if (!this.isOpen) {
      throw new InvalidTransactionError("This transaction is over.", {
        next: "Use tx only inside the body.",
      });
    }
    return { rows: this.#database.prepare(text).all(numbered(params)) as Row[] };
  }
}

type Outcome<Result> = { readonly value: Result } | { readonly error: unknown };

/** Somebody else has the file's write lock, or a transaction open on the handle. */
interface Busy {
  readonly busy: unknown;
}

export class Turns {
  readonly #database: GuardDatabase;
  #begin: GuardStatement | undefined;
  #commit: GuardStatement | undefined;
  readonly #world: World;
  readonly #timeoutMs: number;

  constructor(database: GuardDatabase, world: World, timeoutMs: number) {
    this.#database = database;
    this.#world = world;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Commits what `work` did, or rolls all of it back.
   *
   * @throws {TransactionBodyError} `work` was still pending when the turn ended
   * @throws {StoreBusyError} certainly nothing was written: the write lock was not to be had
   * @throws {UnknownOutcomeError} the commit failed in a way that leaves it open
   */
  async run<Result>(operation: string, work: (tx: OpenTx) => Promise<Result>): Promise<Result> {
    const beganMs = this.#world.clock.monotonicMs();
    for (;;) {
      const done = await this.#turn(operation, work);
      if (!("busy" in done)) return done.value;
      const waitedMs = this.#world.clock.monotonicMs() - beganMs;
      if (waitedMs >= this.#timeoutMs) throw new StoreBusyError(operation, waitedMs, done.busy);
      await this.#world.timers.sleep(1 + 2 * this.#world.random.next());
    }
  }

  /**
   * Two callbacks that are asked for together have nothing but promises between them: no timer, no I/O of anybody's finds
   * the handle inside our transaction. And those of several writes never stand between each other.
   */
  #turn<Result>(
    operation: string,
    work: (tx: OpenTx) => Promise<Result>,
  ): Promise<{ readonly value: Result } | Busy> {
    return new Promise((resolve, reject) => {
      const tx = new OpenTx(this.#database);
      let busy: Busy | undefined;
      let restore = (): void => {};
      let outcome: Outcome<Result> = { error: new TransactionBodyError("a guarded write") };
      this.#world.timers.nextTurn(() => {
        try {
          if (this.#database.isTransaction === true) throw new HandleInUse();
          restore = durably(this.#database);
          this.#begin ??= this.#database.prepare("begin immediate");
          this.#begin.run();
        } catch (error) {
          busy = { busy: error };
          return;
        }
        // What comes after the end of the turn is too late to be looked at.
        work(tx).then(
          (value) => {
            outcome = { value };
          },
          (error: unknown) => {
            outcome = { error };
          },
        );
      });
      this.#world.timers.nextTurn(() => {
        tx.isOpen = false;
        try {
          if (busy === undefined) resolve({ value: this.#finish(operation, outcome) });
          else if (isBusy(busy.busy) || busy.busy instanceof HandleInUse) resolve(busy);
          else reject(busy.busy);
        } catch (error) {
          reject(error);
        } finally {
          restore();
        }
      });
    });
  }

  #finish<Result>(operation: string, outcome: Outcome<Result>): Result {
    if ("error" in outcome) {
      this.#rollBack();
      throw outcome.error;
    }
    if (this.#database.isTransaction === false) {
      throw new InvalidTransactionError("The transaction was ended inside the body.", {
        next: "Leave commit and rollback to the guard. What was written before may be there, unguarded.",
      });
    }
    try {
      this.#world.reached("in-store-transaction");
      this.#commit ??= this.#database.prepare("commit");
      this.#commit.run();
    } catch (error) {
      this.#rollBack();
      if (isBusy(error)) throw new StoreBusyError(operation, 0, error);
      throw isDefinite(error) ? error : new UnknownOutcomeError(operation, error);
    }
    return outcome.value;
  }

  #rollBack(): void {
    try {
      this.#database.exec("rollback");
    } catch {
      // SQLite had rolled back on its own; the error that led here is the one to be told.
    }
  }
}

/** The caller has a transaction open on the handle: its end is waited for. */
class HandleInUse extends Error {
  constructor() {
    super("The handle is in a transaction of its owner's.");
  }
}

/** `$1` is a named parameter to SQLite. */
function numbered(params: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(params.map((value, index) => [`$${index + 1}`, storable(value)]));
}

function storable(value: unknown): unknown {
  if (typeof value === "boolean") return value ? 1 : 0;
  return value === undefined ? null : value;
}
