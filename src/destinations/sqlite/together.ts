import { InvalidTransactionError, TransactionBodyError } from "../../errors.ts";
import type { Connection } from "./connection.ts";
import { OpenTx } from "./tx.ts";

/** A write that waits for its transaction, and whoever waits for its answer. */
export interface Waiting {
  readonly operation: string;
  readonly beganMs: number;
  readonly work: (tx: OpenTx) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** One transaction's writes, one after the other; each has a savepoint of its own, unless it is alone. */
export class Together {
  readonly #connection: Connection;
  readonly #batch: readonly Waiting[];
  readonly #outcomes = new Map<Waiting, Outcome>();
  #current: { readonly waiting: Waiting; readonly tx: OpenTx } | undefined;
  #isOver = false;
  /** What ended the transaction before its end: nobody knows whether it was committed. */
  broken: { readonly by: unknown } | undefined;

  constructor(connection: Connection, batch: readonly Waiting[]) {
    this.#connection = connection;
    this.#batch = batch;
  }

  /** Whether anything is there to be committed. */
  get hasWritten(): boolean {
    return [...this.#outcomes.values()].some((outcome) => "value" in outcome);
  }

  async run(): Promise<void> {
    for (const waiting of this.#batch) {
      await this.#runOne(waiting);
      if (this.#isOver || this.broken !== undefined) return;
    }
  }

  async #runOne(waiting: Waiting): Promise<void> {
    const tx = new OpenTx(this.#connection.database);
    this.#current = { waiting, tx };
    let outcome: Outcome;
    try {
      if (this.#batch.length > 1) this.#connection.savepoint();
      outcome = { value: await waiting.work(tx) };
    } catch (error) {
      outcome = { error };
    }
    // What comes after the end of the turn is too late to be looked at.
    if (!this.#isOver) this.#end(waiting, tx, outcome);
  }

  #end(waiting: Waiting, tx: OpenTx, found: Outcome): void {
    tx.isOpen = false;
    this.#current = undefined;
    const isGone = this.#connection.isOutside;
    let outcome = found;
    if (isGone && "value" in found) outcome = { error: endedInside() };
    this.#outcomes.set(waiting, outcome);
    if (isGone) this.broken = { by: "error" in outcome ? outcome.error : undefined };
    else if (this.#batch.length > 1) this.#endSavepoint(outcome);
  }

  #endSavepoint(outcome: Outcome): void {
    try {
      if ("value" in outcome) this.#connection.release();
      else this.#connection.undo();
    } catch (error) {
      this.broken = { by: error };
    }
  }

  /** The turn is over: a body that is still pending is undone, and those behind it, which are given back, have not begun. */
  end(): Waiting[] {
    this.#isOver = true;
    const pending = this.#current;
    if (pending !== undefined)
      this.#end(pending.waiting, pending.tx, { error: new TransactionBodyError("a guarded write") });
    return this.#batch.filter((waiting) => !this.#outcomes.has(waiting));
  }

  /** @param failure of whatever kept from being written what had been, for each operation */
  answer(failure?: (operation: string) => unknown): void {
    for (const [{ operation, resolve, reject }, outcome] of this.#outcomes) {
      if ("error" in outcome) reject(outcome.error);
      else if (failure === undefined) resolve(outcome.value);
      else reject(failure(operation));
    }
  }
}

function endedInside(): InvalidTransactionError {
  return new InvalidTransactionError("The transaction was ended inside the body.", {
    next: "Leave commit and rollback to the guard. What was written before may be there, unguarded.",
  });
}
