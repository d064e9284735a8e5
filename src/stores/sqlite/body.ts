/** C10 on SQLite: the caller's writes and the completion in one transaction that never spans a turn of the event loop. */

import {
  AlreadySettledError,
  GoneError,
  InvalidTransactionError,
  StaleLeaseError,
  TransactionBodyError,
} from "../../errors.ts";
import { type Fence, jobLine } from "../../protocol/identity.ts";
import type { Refusal } from "../../protocol/outcome.ts";
import type { CallOptions, Tx } from "../store.ts";
import type { Connection } from "./connection.ts";
import { readMoment } from "./moment.ts";
import { complete } from "./settle.ts";
import type { Parameters, Statements } from "./statements.ts";
import { underFence } from "./transition.ts";

interface Waiting {
  readonly fence: Fence;
  readonly body: (tx: Tx) => Promise<string | null>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The body's view of the transaction; of no use once the body is over. */
class BodyTx implements Tx {
  readonly #statements: Statements;
  open = true;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async query<Row>(text: string, params: readonly unknown[] = []): Promise<{ rows: Row[] }> {
    if (!this.open) {
      throw new InvalidTransactionError("This transaction is over.", {
        next: "Use tx only inside the body.",
      });
    }
    return { rows: this.#statements.query(text, numbered(params)) as Row[] };
  }

  /** For `enqueue(…, { tx })` inside a body. */
  get statements(): Statements {
    return this.#statements;
  }
}

/** `$1` is a named parameter to SQLite. */
function numbered(params: readonly unknown[]): Parameters {
  return Object.fromEntries(params.map((value, index) => [`$${index + 1}`, storable(value)]));
}

function storable(value: unknown): unknown {
  if (typeof value === "boolean") return value ? 1 : 0;
  return value === undefined ? null : value;
}

export function statementsOf(tx: unknown): Statements | undefined {
  return tx instanceof BodyTx && tx.open ? tx.statements : undefined;
}

/** Bodies that wait together share one transaction and one fsync, a savepoint each. */
export class Bodies {
  readonly #connection: Connection;
  readonly #waiting: Waiting[] = [];
  #running = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  complete(fence: Fence, body: (tx: Tx) => Promise<string | null>, options: CallOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ fence, body, resolve, reject });
      if (!this.#running) void this.#run(options);
    });
  }

  async #run(options: CallOptions): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) await this.#runTogether(options);
    this.#running = false;
  }

  async #runTogether(options: CallOptions): Promise<void> {
    const together = new Together(this.#connection.statements);
    let batch: Waiting[] = [];
    try {
      await this.#connection.occupy(
        "complete",
        options.timeoutMs,
        () => {
          batch = this.#waiting.splice(0);
          void together.run(batch);
        },
        () => {
          this.#waiting.unshift(...together.end(batch));
        },
      );
      together.answer();
    } catch (error) {
      // Nothing was committed, or nobody knows: the same for all that were to be committed now.
      for (const waiting of batch.length > 0 ? together.unanswered(batch) : this.#waiting.splice(0))
        waiting.reject(error);
    }
  }
}

/** One transaction's bodies, one after the other. */
class Together {
  readonly #statements: Statements;
  readonly #answers: (() => void)[] = [];
  readonly #done = new Set<Waiting>();
  #current: { readonly waiting: Waiting; readonly tx: BodyTx } | undefined;
  #over = false;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async run(batch: readonly Waiting[]): Promise<void> {
    for (const waiting of batch) {
      await this.#runOne(waiting);
      if (this.#over) return;
    }
  }

  async #runOne(waiting: Waiting): Promise<void> {
    const { fence, body, resolve, reject } = waiting;
    const tx = new BodyTx(this.#statements);
    this.#current = { waiting, tx };
    this.#statements.exec("savepoint body");
    try {
      const moment = readMoment(this.#statements);
      const current = underFence(this.#statements, fence, "complete", moment, "complete");
      if ("outcome" in current) throw errorOf(fence, current);
      const result = await body(tx);
      if (this.#over) return;
      // The predicate stands in the writing statement as well: the body may have written anything.
      const completed = complete(this.#statements, [{ operation: "complete", fence, result }], moment);
      if (!completed.has(fence.jobId)) throw errorOf(fence, { outcome: "gone" });
      this.#statements.exec("release body");
      this.#answers.push(resolve);
    } catch (error) {
      if (this.#over) return;
      this.#statements.exec("rollback to body; release body");
      this.#answers.push(() => reject(error));
      if (error instanceof StaleLeaseError) this.#noteRefusal(fence);
    }
    tx.open = false;
    this.#done.add(waiting);
    this.#current = undefined;
  }

  /** Outside the savepoint, so that the journal keeps what was refused. */
  #noteRefusal(fence: Fence): void {
    underFence(this.#statements, fence, "complete", readMoment(this.#statements), "complete");
  }

  /** The turn is over: a body that is still pending is undone, and those behind it wait for the next transaction. */
  end(batch: readonly Waiting[]): Waiting[] {
    this.#over = true;
    const pending = this.#current;
    if (pending !== undefined) {
      pending.tx.open = false;
      this.#statements.exec("rollback to body; release body");
      this.#answers.push(() => pending.waiting.reject(new TransactionBodyError("job.complete")));
      this.#done.add(pending.waiting);
    }
    return batch.filter((waiting) => !this.#done.has(waiting));
  }

  unanswered(batch: readonly Waiting[]): Waiting[] {
    return batch.filter((waiting) => this.#done.has(waiting));
  }

  /** Only after the commit. */
  answer(): void {
    for (const answer of this.#answers) answer();
  }
}

function errorOf(fence: Fence, refusal: Refusal): Error {
  if (refusal.outcome === "already") return new AlreadySettledError(fence, "complete");
  if (refusal.outcome === "gone") return new GoneError(`Job ${fence.jobId}`);
  const token = { line: jobLine(fence.jobId), generation: fence.generation };
  return new StaleLeaseError(token, refusal.generation, refusal.reason, "complete");
}
