import type { World } from "../../clock/world.ts";
import { SchemaVersionError, StoreBusyError, StoreUnusableError } from "../../errors.ts";
import type { Connections } from "./connections.ts";
import { loadMigrations, type Migration, quoted } from "./sql.ts";
import type { Sql } from "./statements.ts";

/** How long one look at the server may take, ms. */
const LOOK_TIMEOUT_MS = 10_000;
/** How long a migration may take: it may have to build an index, ms. */
const MIGRATION_TIMEOUT_MS = 3_600_000;
/** How long it waits for others' locks before it lets them pass and tries again, ms. */
const LOCK_TIMEOUT_MS = 2_000;
/** How long it tries, ms. */
const TRY_FOR_MS = 60_000;

const OLDEST_SERVER = 150_000;

export class Migrator {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #store: string;
  readonly #world: World;

  /** @param store for messages */
  constructor(connections: Connections, schema: string, store: string, world: World) {
    this.#connections = connections;
    this.#schema = schema;
    this.#store = store;
    this.#world = world;
  }

  /** Changes nothing. */
  async pending(): Promise<readonly Migration[]> {
    const call = this.#connections.call("look at the schema", LOOK_TIMEOUT_MS, false);
    return this.#pendingIn((await this.#look(this.#connections.on(call))).version);
  }

  /**
   * Brings the schema up to date, or refuses to. Of ten processes that start at once one does the work, and the others find
   * it done.
   *
   * @param mayMigrate false: an older schema is refused
   */
  async bringUpToDate(mayMigrate: boolean): Promise<void> {
    const pending = await this.pending();
    if (pending.length === 0) return;
    if (!mayMigrate) {
      const call = this.#connections.call("look at the schema", LOOK_TIMEOUT_MS, false);
      const { version } = await this.#look(this.#connections.on(call));
      throw new SchemaVersionError(version, pending.at(-1)?.version ?? 0, this.#store);
    }
    const beganMs = this.#world.clock.monotonicMs();
    for (;;) {
      try {
        return await this.#migrate();
      } catch (error) {
        const triedMs = this.#world.clock.monotonicMs() - beganMs;
        if (!(error instanceof StoreBusyError) || triedMs > TRY_FOR_MS) throw error;
        await this.#world.timers.sleep(50 + 200 * this.#world.random.next());
      }
    }
  }

  #migrate(): Promise<void> {
    const call = this.#connections.call("migrate", MIGRATION_TIMEOUT_MS);
    return this.#connections.transaction(call, async (sql) => {
      await sql.exec(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
      await sql.rows("exclude other migrations", [`leasehold ${this.#schema}`]);
      const { version, hasSchema } = await this.#look(sql);
      // Making it asks for a right on the database that the owner of the schema need not have.
      if (!hasSchema) await sql.exec(`create schema ${quoted(this.#schema)}`);
      for (const migration of this.#pendingIn(version)) {
        await sql.exec(migration.sql);
        await sql.rows("note schema version", [migration.version]);
      }
    });
  }

  async #look(sql: Sql): Promise<{ readonly version: number; readonly hasSchema: boolean }> {
    const [row] = await sql.rows<{ server: number; has_schema: boolean; has_store: boolean }>(
      "what is there",
      [this.#schema],
    );
    if (row === undefined || row.server < OLDEST_SERVER) {
      throw new StoreUnusableError(
        `${this.#store} is a PostgreSQL of version ${(row?.server ?? 0) / 10_000}.`,
        {
          next: "Use PostgreSQL 15 or newer.",
        },
      );
    }
    const [store] = row.has_store ? await sql.rows<{ version: number }>("schema version") : [];
    return { version: store?.version ?? 0, hasSchema: row.has_schema };
  }

  /** @throws {SchemaVersionError} when a newer leasehold has migrated the store */
  #pendingIn(found: number): readonly Migration[] {
    const migrations = loadMigrations(this.#schema);
    const known = migrations.at(-1)?.version ?? 0;
    if (found > known) throw new SchemaVersionError(found, known, this.#store);
    return migrations.filter(({ version }) => version > found);
  }
}
