import type { World } from "../../clock/world.ts";
import { ClosedError, SchemaVersionError, StoreBusyError, UnknownOutcomeError } from "../../errors.ts";
import type { CallOptions } from "../store.ts";
import { newerSchema, type Warn } from "../warnings.ts";
import { type ConnectionName, openPool } from "./address.ts";
import { type Call, Connections, type OpenTransaction } from "./connections.ts";
import { namesWhatIsMissing } from "./failure.ts";
import { raiseFloor } from "./floor.ts";
import { Migrator } from "./migrate.ts";
import { HistoryChanged } from "./moment.ts";
import type { PostgresOptions } from "./options.ts";
import type { Sql, Texts } from "./statements.ts";

/** What all calls of a store share. */
export interface CallsNeeds {
  readonly options: PostgresOptions;
  readonly schema: string;
  /** For people. */
  readonly store: string;
  readonly name: ConnectionName;
  readonly world: World;
  readonly texts: Texts;
  readonly warn: Warn;
}

/**
 * How a store calls its server: it connects and opens the schema with the first call and within its deadline, raises the
 * floor where the server turns out to be another one, and says what became of a call in the errors of C11.
 */
export class Calls {
  readonly #options: PostgresOptions;
  readonly #schema: string;
  readonly #store: string;
  readonly #name: ConnectionName;
  readonly #world: World;
  readonly #texts: Texts;
  readonly #warn: Warn;
  #connections: Promise<Connections> | undefined;
  #opening: Promise<Connections> | undefined;
  #closed = false;

  constructor({ options, schema, store, name, world, texts, warn }: CallsNeeds) {
    this.#options = options;
    this.#schema = schema;
    this.#store = store;
    this.#name = name;
    this.#world = world;
    this.#texts = texts;
    this.#warn = warn;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const connections = await this.#connections?.catch(() => undefined);
    await connections?.close();
  }

  /** The connections, whatever stands in the schema. */
  pool(): Promise<Connections> {
    if (this.#closed) return Promise.reject(new ClosedError("The store"));
    this.#connections ??= openPool(this.#options, this.#name, this.#world.timers).then(
      (pool) => new Connections(pool, this.#texts, this.#world, this.#store),
      (error: unknown) => {
        this.#connections = undefined;
        throw error;
      },
    );
    return this.#connections;
  }

  migrator(connections: Connections): Migrator {
    return new Migrator(connections, this.#schema, this.#store, this.#world);
  }

  /** The connections, with the schema as this version has it. */
  opened(): Promise<Connections> {
    if (this.#closed) return Promise.reject(new ClosedError("The store"));
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined; // the next call tries again: what was wrong may have been put right
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<Connections> {
    const connections = await this.pool();
    const migrator = this.migrator(connections);
    const found = await migrator.bringUpToDate(this.#options.migrate !== false);
    if (found > migrator.newest) this.#warn(newerSchema(this.#store, found, migrator.newest));
    return connections;
  }

  /** Opens if need be, within the call's own deadline. */
  async begin(operation: string, { timeoutMs }: CallOptions, writes = true): Promise<[Connections, Call]> {
    const beganMs = this.#world.clock.monotonicMs();
    const connections = await new Promise<Connections>((resolve, reject) => {
      const late = (): void => reject(new StoreBusyError(operation, timeoutMs));
      const timer = this.#world.timers.after(timeoutMs, late);
      this.opened()
        .then(resolve, reject)
        .finally(() => timer.cancel());
    });
    const leftMs = timeoutMs - (this.#world.clock.monotonicMs() - beganMs);
    return [connections, connections.call(operation, leftMs, writes)];
  }

  /** Where the server turns out to be another one, the floor is raised first and the call made again. */
  async with<T>(
    operation: string,
    options: CallOptions,
    fn: (connections: Connections, call: Call) => Promise<T>,
  ): Promise<T> {
    const [connections, call] = await this.begin(operation, options);
    try {
      return await fn(connections, call);
    } catch (error) {
      if (!(error instanceof HistoryChanged)) {
        // A part of it may have been done by then, whatever kept the rest from being done (C11).
        const isUnknown = call.hasWritten && !(error instanceof UnknownOutcomeError);
        throw isUnknown ? new UnknownOutcomeError(operation, error) : await this.#typed(connections, error);
      }
      await connections.transaction(call, (sql) => raiseFloor(sql, "if history changed"));
      return fn(connections, call);
    }
  }

  /** Statements that name what is not there: a migration may have shut this version out while it ran. */
  async #typed(connections: Connections, error: unknown): Promise<unknown> {
    if (!namesWhatIsMissing(error)) return error;
    return this.migrator(connections)
      .pending()
      .then(
        () => error,
        (reason: unknown) => (reason instanceof SchemaVersionError ? reason : error),
      );
  }

  transaction<T>(
    operation: string,
    options: CallOptions,
    fn: (sql: OpenTransaction) => Promise<T>,
  ): Promise<T> {
    return this.with(operation, options, (connections, call) => connections.transaction(call, fn));
  }

  async read<T>(operation: string, options: CallOptions, fn: (sql: Sql) => Promise<T>): Promise<T> {
    const [connections, call] = await this.begin(operation, options, false);
    return fn(connections.on(call)).catch(async (error: unknown) => {
      throw await this.#typed(connections, error);
    });
  }
}
