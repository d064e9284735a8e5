import type { World } from "../../clock/world.ts";
import { ClosedError, StoreBusyError, UnknownOutcomeError } from "../../errors.ts";
import type { PoolEnd } from "../../node-postgres/ending.ts";
import type { OpenPool } from "./address.ts";
import type { PgClient, PgPool, PooledClient } from "./driver.ts";
import { afterCommit, afterSending, isRepeatable, leavesConnection, unreachable } from "./failure.ts";
import { Lingering } from "./lingering.ts";
import { Prepared } from "./prepared.ts";
import { type OwnSql, type Row, statementsOn, type Texts } from "./statements.ts";
import { QueryFailed, Use } from "./use.ts";

/** What is known of one call: its name in errors, and when it must have been answered. */
export interface Call {
  readonly operation: string;
  readonly beganMs: number;
  readonly deadlineMs: number;
  /** False: it only reads, so nothing is unknown when no answer comes. */
  readonly writes: boolean;
  /** Something of it has been committed: whatever becomes of its later statements, it has not written nothing (C11). */
  hasWritten: boolean;
}

/** What a transaction's body works with. */
export interface OpenTransaction extends OwnSql {
  /** Runs statements that have no parameters and give no rows. */
  exec(text: string): Promise<unknown>;
  /** Runs somebody else's statement; its errors are theirs, unless the connection is lost. */
  foreign(text: string, params: readonly unknown[]): Promise<{ rows: Row[] }>;
}

type Done<T> = { readonly value: T } | { readonly again: unknown };

/**
 * Statements and transactions over a pool, each call with a deadline of its own. Serialization failures and deadlocks
 * are repeated as a whole; every other error is told as what C11 makes of it.
 */
export class Connections {
  readonly #pool: PgPool;
  readonly #texts: Texts;
  readonly #world: World;
  readonly #prepared: Prepared;
  /** For messages. */
  readonly #store: string;
  /** Undefined when the pool is the caller's to end. */
  readonly #end: PoolEnd | undefined;
  readonly #lingering: Lingering;
  readonly #onIdleError = (): void => {};
  readonly #onNewConnection = (client: PgClient): void => {
    const ignore = (): void => {};
    client.on("error", ignore);
    this.#world.timers.nextTurn(() => client.removeListener("error", ignore));
  };
  /** Of the calls that wait for a connection: a pool that ends forgets them. */
  readonly #refuse = new Set<() => void>();
  #closed = false;

  /** @param end undefined when the pool is the caller's */
  constructor({ pool, mayLinger, end }: OpenPool, texts: Texts, world: World, store: string) {
    this.#pool = pool;
    this.#end = end;
    this.#lingering = new Lingering(mayLinger);
    this.#prepared = new Prepared(texts, end !== undefined);
    this.#texts = texts;
    this.#world = world;
    this.#store = store;
    // Without a listener, an idle connection that the server closes would end the process.
    pool.on("error", this.#onIdleError);
    // A server that shuts down may end a new connection in the same packet in which it lets us in: the pool listens no
    // longer then, and who asked for the connection, in a later microtask, not yet.
    pool.on("connect", this.#onNewConnection);
  }

  call(operation: string, timeoutMs: number, writes = true): Call {
    const beganMs = this.#world.clock.monotonicMs();
    return { operation, beganMs, deadlineMs: beganMs + timeoutMs, writes, hasWritten: false };
  }

  /** Runs statements, each in a transaction of its own. */
  on(call: Call): OwnSql {
    const run = <T>(statement: (sql: OwnSql) => Promise<T>): Promise<T> =>
      this.#repeated(call, (use) => use.run(statement(this.#statementsOn(use))));
    return {
      rows: <R>(name: string, parameters: readonly unknown[] = []) =>
        run((sql) => sql.rows<R>(name, parameters)),
      tuples: (name, parameters) => run((sql) => sql.tuples(name, parameters)),
    };
  }

  /**
   * Runs `fn` in one transaction and commits it. Errors of `fn` that are not the store's come through as they are, after
   * the rollback.
   */
  transaction<T>(call: Call, fn: (tx: OpenTransaction) => Promise<T>): Promise<T> {
    return this.#repeated(call, async (use) => {
      use.commit = "to come";
      const { client } = use;
      const waitMs = Math.max(1, Math.floor(call.deadlineMs - this.#world.clock.monotonicMs()));
      // Settings of this transaction alone: behind a pooler the next one may have another connection. When the network
      // is cut, the server does not hear that we have given up, and would keep the row locked until the connection dies.
      const begin = `begin isolation level read committed read write;
        set local lock_timeout = ${waitMs}; set local idle_in_transaction_session_timeout = ${waitMs};
        set local synchronous_commit = on`;
      await use.run(client.query({ text: begin }));
      const sql = this.#statementsOn(use);
      const value = await fn({
        rows: (name, parameters) => use.run(sql.rows(name, parameters)),
        tuples: (name, parameters) => use.run(sql.tuples(name, parameters)),
        exec: (text) => use.run(client.query({ text })),
        foreign: (text, params) => use.runForeign(client.query({ text, values: [...params] })),
      });
      this.#world.reached("in-store-transaction");
      use.commit = "sent";
      await use.run(client.query({ text: "commit" }));
      call.hasWritten = call.writes;
      return value;
    });
  }

  #statementsOn({ client }: Use): OwnSql {
    return statementsOn(client, this.#texts, this.#prepared);
  }

  /**
   * To be called before an answer that rests on what an earlier call has committed (C11): that may not have reached the
   * synchronous standby, and is then as unknown as it was.
   */
  async waitForStandby(call: Call): Promise<void> {
    await this.on(call).rows("wait for standby");
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const refuse of this.#refuse) refuse();
    this.#lingering.close();
    if (this.#end !== undefined) return this.#end.end();
    this.#pool.removeListener("error", this.#onIdleError);
    this.#pool.removeListener("connect", this.#onNewConnection);
  }

  async #repeated<T>(call: Call, attempt: (use: Use) => Promise<T>): Promise<T> {
    for (;;) {
      const done = await this.#attempt(call, attempt);
      if ("value" in done) return done.value;
      const now = this.#world.clock.monotonicMs();
      if (now >= call.deadlineMs) throw new StoreBusyError(call.operation, now - call.beganMs, done.again);
      await this.#world.timers.sleep(2 + 8 * this.#world.random.next());
    }
  }

  async #attempt<T>(call: Call, attempt: (use: Use) => Promise<T>): Promise<Done<T>> {
    const use = new Use(await this.#connect(call));
    try {
      const isKnown = this.#prepared.isDirect(use.client) !== undefined;
      const work = isKnown ? attempt(use) : use.run(this.#prepared.look(use.client)).then(() => attempt(use));
      const value = await this.#inTime(call, work, () => this.#late(call, use, isKnown ? work : undefined));
      use.release(true);
      if (call.writes && use.unsynced !== undefined)
        throw new UnknownOutcomeError(call.operation, use.unsynced);
      return { value };
    } catch (error) {
      const cause = error instanceof QueryFailed ? error.cause : error;
      if (use.isReleased || this.#lingering.has(use)) throw error;
      use.release(await this.#isInOrder(use, error));
      if (!(error instanceof QueryFailed)) throw error;
      if (isRepeatable(cause) || this.#prepared.lost(use.client, cause)) return { again: cause };
      const waitedMs = this.#world.clock.monotonicMs() - call.beganMs;
      if (use.commit === "sent") throw afterCommit(cause, call.operation, waitedMs);
      throw afterSending(cause, call.operation, waitedMs, call.writes && use.commit === "by itself");
    }
  }

  /** Puts an end to the transaction, and says whether the connection may be used again. */
  async #isInOrder(use: Use, error: unknown): Promise<boolean> {
    if (error instanceof QueryFailed && !leavesConnection(error.cause)) return false;
    if (use.commit === "by itself") return error instanceof QueryFailed;
    return use.client.query({ text: "rollback" }).then(
      () => true,
      () => false,
    );
  }

  /**
   * Giving up does not stop the server. A transaction that was not committed will not be, since its connection is closed;
   * a statement that commits by itself may yet, and its connection lingers.
   *
   * @param statement what was sent and is not answered yet, if nothing would be sent behind it
   */
  #late(call: Call, use: Use, statement: Promise<unknown> | undefined): Error {
    if (statement !== undefined && use.commit === "by itself") this.#lingering.add(use, statement);
    else use.release(false);
    const waitedMs = this.#world.clock.monotonicMs() - call.beganMs;
    return use.commit === "to come" || !call.writes
      ? new StoreBusyError(call.operation, waitedMs)
      : new UnknownOutcomeError(call.operation, new Error(`no answer after ${Math.round(waitedMs)} ms`));
  }

  async #connect(call: Call): Promise<PooledClient> {
    if (this.#closed) throw new ClosedError("The store");
    const waitedMs = (): number => this.#world.clock.monotonicMs() - call.beganMs;
    let isWanted = true;
    let refuse!: () => void;
    const connecting = new Promise<PooledClient>((resolve, reject) => {
      this.#pool.connect().then((client) => (isWanted ? resolve(client) : client.release()), reject);
      refuse = () => {
        isWanted = false;
        reject(new ClosedError("The store"));
      };
    });
    this.#refuse.add(refuse);
    try {
      return await this.#inTime(call, connecting, () => {
        isWanted = false;
        return new StoreBusyError(call.operation, waitedMs());
      });
    } catch (error) {
      if (this.#closed) throw new ClosedError("The store");
      throw unreachable(error, call.operation, waitedMs(), this.#store);
    } finally {
      this.#refuse.delete(refuse);
    }
  }

  #inTime<T>(call: Call, work: Promise<T>, late: () => unknown): Promise<T> {
    return new Promise((resolve, reject) => {
      let answered = false;
      const leftMs = Math.max(0, call.deadlineMs - this.#world.clock.monotonicMs());
      const timer = this.#world.timers.after(leftMs, () => {
        // A process that was stopped for longer than this finds the answer waiting, which is read in this turn.
        this.#world.timers.nextTurn(() => {
          if (!answered) reject(late());
        });
      });
      work.then(resolve, reject).finally(() => {
        answered = true;
        timer.cancel();
      });
    });
  }
}
