import type { World } from "../../clock/world.ts";
import { SchemaVersionError, StoreBusyError, StoreUnusableError } from "../../errors.ts";
import type { Connections } from "./connections.ts";
import { loadMigrations, type Migration, quoted } from "./sql.ts";
import type { Sql } from "./statements.ts";

/** How long one look at the server may take, ms. */
const LOOK_TIMEOUT_MS = 10_000;
/** How long a migration may take: it may have to build an index, ms. */
const MIGRATION_TIMEOUT_MS = 3_600_000;
/** How long it waits for another process that migrates, ms; nobody else waits behind it. */
const OTHER_MIGRATION_MS = 2_000;
/**
 * How long it waits for the lock of a table, ms: every worker waits behind it meanwhile, so that somebody's long
 * transaction would stop them all. It gives way and tries again, twice as long each time up to the longest: a server under
 * load may need more than the first to let anybody's statement end.
 */
const FIRST_LOCK_MS = 100;
const LONGEST_LOCK_MS = 1_000;
/** Between two tries it rests for this many times as long as it waited, and for once as long again at random. */
const REST = 1;
/** How long it tries, ms. */
const TRY_FOR_MS = 60_000;

export const OLDEST_SERVER = 150_000;

interface Found {
  /** 0 when there is none. */
  readonly version: number;
  /** The oldest schema whose code can work with it. */
  readonly worksWith: number;
  readonly hasSchema: boolean;
}

export class Migrator {
  readonly #connections: Connections;
  readonly #schema: string;
  readonly #store: string;
  readonly #world: World;
  readonly #migrations: readonly Migration[];

  /**
   * @param store for messages
   * @param migrations those of this version; tests bring later ones
   */
  constructor(
    connections: Connections,
    schema: string,
    store: string,
    world: World,
    migrations: readonly Migration[] = loadMigrations(schema),
  ) {
    this.#connections = connections;
    this.#schema = schema;
    this.#store = store;
    this.#world = world;
    this.#migrations = migrations;
  }

  /**
   * Changes nothing.
   *
   * @throws {SchemaVersionError} when a newer leasehold has migrated the store to what this one cannot work with
   */
  async pending(): Promise<readonly Migration[]> {
    return this.#pendingIn(await this.look());
  }

  /**
   * Brings the schema up to date, or refuses to. Of ten processes that start at once one does the work, and the others find
   * it done.
   *
   * @param mayMigrate false: an older schema is refused
   * @returns the schema that is there now; it may be newer than this version's
   */
  async bringUpToDate(mayMigrate: boolean): Promise<number> {
    const found = await this.look();
    const pending = this.#pendingIn(found);
    if (pending.length === 0) return found.version;
    if (!mayMigrate) throw new SchemaVersionError(found.version, this.newest, this.#store);
    const beganMs = this.#world.clock.monotonicMs();
    for (let lockMs = FIRST_LOCK_MS; ; lockMs = Math.min(2 * lockMs, LONGEST_LOCK_MS)) {
      try {
        await this.#migrate(lockMs);
        return this.newest;
      } catch (error) {
        const triedMs = this.#world.clock.monotonicMs() - beganMs;
        if (!(error instanceof StoreBusyError) || triedMs > TRY_FOR_MS) throw error;
        await this.#world.timers.sleep(lockMs * (REST + this.#world.random.next()));
      }
    }
  }

  #migrate(lockMs: number): Promise<void> {
    const call = this.#connections.call("migrate", MIGRATION_TIMEOUT_MS);
    return this.#connections.transaction(call, async (sql) => {
      await sql.exec(`set local lock_timeout = ${OTHER_MIGRATION_MS}`);
      await sql.rows("exclude other migrations", [`leasehold ${this.#schema}`]);
      await sql.exec(`set local lock_timeout = ${lockMs}`);
      for (const migration of this.#pendingIn(await look(sql, this.#schema, this.#store)))
        await sql.exec(migration.sql);
    });
  }

  /** What is there, whether this version can work with it or not. */
  look(): Promise<Found> {
    const call = this.#connections.call("look at the schema", LOOK_TIMEOUT_MS, false);
    return look(this.#connections.on(call), this.#schema, this.#store);
  }

  /** The schema of this version. */
  get newest(): number {
    return this.#migrations.at(-1)?.version ?? 0;
  }

  #pendingIn({ version: found, worksWith, hasSchema }: Found): readonly Migration[] {
    if (worksWith > this.newest) throw new SchemaVersionError(found, this.newest, this.#store);
    const pending = this.#migrations.filter(({ version }) => version > found);
    const [first, ...others] = pending;
    if (hasSchema || first === undefined) return pending;
    // Making it asks for a right on the database that the owner of the schema need not have.
    return [{ ...first, sql: `create schema ${quoted(this.#schema)};\n\n${first.sql}` }, ...others];
  }
}

/**
 * What stands in the schema; nothing is changed.
 *
 * @param store for messages
 */
export async function look(sql: Sql, schema: string, store: string): Promise<Found> {
  const [row] = await sql.rows<{ server: number; has_schema: boolean; has_store: boolean }>("what is there", [
    schema,
  ]);
  if (row === undefined || row.server < OLDEST_SERVER) {
    throw new StoreUnusableError(`${store} is a PostgreSQL of version ${(row?.server ?? 0) / 10_000}.`, {
      next: "Use PostgreSQL 15 or newer.",
    });
  }
  const [found] = row.has_store
    ? await sql.rows<{ version: number; works_with: number }>("schema version")
    : [];
  return {
    version: found?.version ?? 0,
    worksWith: found?.works_with ?? 0,
    hasSchema: row.has_schema,
  };
}
