/** Short transactions on the data's own database, each with a deadline that the server knows as well. */

import type { World } from "../../clock/world.ts";
import { InvalidTransactionError, StoreBusyError, UnknownOutcomeError } from "../../errors.ts";
import { type GuardClient, type GuardPool, serverError } from "./driver.ts";

/**
 * What is sent in the message that opens the transaction, so that it costs no round trip of its own: whole statements with their
 * semicolons, since such a message takes no parameters.
 */
export interface Opening {
  /** Called when a connection is there; what it throws ends the call with nothing sent. */
  statements(): readonly string[];
  /** What an error of theirs means. */
  failed(error: unknown): unknown;
}

/** The body's view of the transaction; of no use once the body is over. */
export interface GuardTx {
  /** `$1`, `$2` … stand for `params`. */
  query<Row = Record<string, unknown>>(text: string, params?: readonly unknown[]): Promise<{ rows: Row[] }>;
}

export class Transactions {
  readonly #pool: () => Promise<GuardPool>;
  readonly #world: World;
  readonly #timeoutMs: number;

  constructor(pool: () => Promise<GuardPool>, world: World, timeoutMs: number) {
    this.#pool = pool;
    this.#world = world;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Commits what `work` did, or rolls all of it back. `work` is given the answer to the last statement of the opening.
   *
   * @throws {StoreBusyError} certainly nothing was written: no connection, or somebody else's transaction in the way
   * @throws {UnknownOutcomeError} no answer to the commit
   */
  async run<Result>(operation: string, work: Work<Result>, opening?: Opening): Promise<Result> {
    const beganMs = this.#world.clock.monotonicMs();
    const waitedMs = (): number => this.#world.clock.monotonicMs() - beganMs;
    const attempt = new Attempt(operation, this.#timeoutMs, waitedMs);
    const over = new AbortController();
    // Giving up does not reach a server that is cut off: the settings of the transaction end it there.
    const late = this.#world.timers.sleep(this.#timeoutMs, over.signal).then(() => {
      throw attempt.late();
    });
    late.catch(() => {});
    try {
      const connecting = this.#pool().then((pool) => pool.connect());
      connecting.then(
        (client) => attempt.isOver && client.release(),
        () => {},
      );
      const client = await Promise.race([connecting, late]).catch((error: unknown) => {
        throw error instanceof StoreBusyError || serverError(error) !== undefined
          ? error
          : new StoreBusyError(operation, waitedMs(), error);
      });
      return await Promise.race([attempt.on(client, work, opening), late]);
    } finally {
      attempt.end();
      over.abort();
    }
  }
}

export type Work<Result> = (tx: OpenTx, opened: readonly unknown[]) => Promise<Result>;

class Attempt {
  readonly #operation: string;
  readonly #timeoutMs: number;
  readonly #waitedMs: () => number;
  #client: GuardClient | undefined;
  #committing = false;
  isOver = false;

  constructor(operation: string, timeoutMs: number, waitedMs: () => number) {
    this.#operation = operation;
    this.#timeoutMs = timeoutMs;
    this.#waitedMs = waitedMs;
  }

  async on<Result>(client: GuardClient, work: Work<Result>, opening?: Opening): Promise<Result> {
    this.#client = client;
    client.on("error", ignore); // the query that is under way says it as well
    const tx = new OpenTx(client);
    let isBegun = false;
    try {
      const statements = opening?.statements() ?? [];
      isBegun = true;
      const opened = await tx.query([this.#begin, ...statements].join("\n")).catch((error: unknown) => {
        throw opening === undefined ? error : opening.failed(error);
      });
      const result = await work(tx, lastOf(opened));
      tx.isOpen = false;
      if (this.isOver) throw this.late(); // its caller has been told that nothing was written
      this.#committing = true;
      const ended = await client.query([...tx.atEnd, "commit"].join("\n"));
      this.#committing = false;
      if (commandOf(ended) === "ROLLBACK") throw failedInside();
      this.#release(false);
      return result;
    } catch (error) {
      tx.isOpen = false;
      if (this.#committing) throw this.#afterCommit(error);
      if (isBegun) {
        await client.query("rollback").then(
          () => this.#release(false),
          () => this.#release(true),
        );
      } else this.#release(false);
      const isBusy = serverError(error)?.state === "55P03" || (error !== undefined && error === tx.lost);
      if (isBusy) throw new StoreBusyError(this.#operation, this.#waitedMs(), error);
      throw error;
    }
  }

  /**
   * Settings of this transaction alone: behind a pooler the next one may have another connection. A process that is frozen
   * in here would keep the line's mark locked, and its successor out: the server ends it for us. And a mark that was
   * raised must survive, whatever the session's default is.
   */
  get #begin(): string {
    const limitMs = Math.ceil(this.#timeoutMs);
    return `begin isolation level read committed read write;
      set local lock_timeout = ${limitMs};
      set local idle_in_transaction_session_timeout = ${limitMs};
      set local synchronous_commit = on;`;
  }

  late(): Error {
    this.isOver = true;
    return this.#committing
      ? new UnknownOutcomeError(this.#operation, new Error(`no answer after ${this.#timeoutMs} ms`))
      : new StoreBusyError(this.#operation, this.#timeoutMs);
  }

  end(): void {
    this.isOver = true;
    this.#release(true);
  }

  /** A deferred constraint or a serialization failure is refused by COMMIT itself; all else may have happened. */
  #afterCommit(error: unknown): unknown {
    this.#release(true);
    const { state = "" } = serverError(error) ?? {};
    return /^(2[23]|40)/.test(state) ? error : new UnknownOutcomeError(this.#operation, error);
  }

  #release(destroy: boolean): void {
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    client.removeListener("error", ignore);
    client.release(destroy);
  }
}

export class OpenTx implements GuardTx {
  readonly #client: GuardClient;
  isOpen = true;
  /** What is sent in the message that commits, before it: an error of theirs leaves nothing committed. */
  readonly atEnd: string[] = [];
  /** What the connection, not the server, has said. */
  lost: unknown;

  constructor(client: GuardClient) {
    this.#client = client;
  }

  async query<Row>(text: string, params: readonly unknown[] = []): Promise<{ rows: Row[] }> {
    if (!this.isOpen) {
      throw new InvalidTransactionError("This transaction is over.", {
        next: "Use tx only inside the body, and await what it is asked.",
      });
    }
    try {
      return await this.#client.query(text, [...params]);
    } catch (error) {
      if (serverError(error) === undefined) this.lost = error;
      throw error;
    }
  }
}

/** A message of several statements is answered by a list. */
function lastOf(answer: unknown): readonly unknown[] {
  const last = Array.isArray(answer) ? answer.at(-1) : answer;
  return (last as { readonly rows?: readonly unknown[] } | undefined)?.rows ?? [];
}

function commandOf(answer: unknown): string | undefined {
  const last = Array.isArray(answer) ? answer.at(-1) : answer;
  return (last as { readonly command?: string } | undefined)?.command;
}

/** The server ends a transaction in which a statement has failed by rolling it back, and calls that no error. */
function failedInside(): InvalidTransactionError {
  return new InvalidTransactionError(
    "The body went on after one of its statements had failed; it was rolled back.",
    {
      next: "Let the error of a statement out of the body.",
    },
  );
}

function ignore(): void {}
