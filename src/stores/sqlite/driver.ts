import { StoreUnusableError } from "../../errors.ts";

/** What `node:sqlite` and `@photostructure/sqlite` share: parameters by position, or one object of them by name. */
export interface Statement {
  run(...parameters: unknown[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  get(...parameters: unknown[]): Record<string, unknown> | undefined;
  all(...parameters: unknown[]): Record<string, unknown>[];
}

/** A database handle: the caller may bring its own. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
  readonly isTransaction?: boolean;
}

export type DatabaseClass = new (path: string, options?: Record<string, unknown>) => Database;

export interface Driver {
  readonly name: string;
  readonly Database: DatabaseClass;
  readonly sqliteVersion: string;
}

let loaded: Promise<Driver> | undefined;

/**
 * The built-in where its SQLite is safe for several processes, else `@photostructure/sqlite`, which brings its own.
 *
 * @throws {StoreUnusableError} when this Node has neither
 */
export function loadDriver(): Promise<Driver> {
  loaded ??= findDriver();
  return loaded;
}

async function findDriver(): Promise<Driver> {
  const builtIn = builtInDriver();
  if (builtIn !== undefined && isWalSafe(builtIn.sqliteVersion)) return builtIn;
  try {
    const { DatabaseSync } = (await import("@photostructure/sqlite")) as unknown as {
      DatabaseSync: DatabaseClass;
    };
    return driver("@photostructure/sqlite", DatabaseSync);
  } catch (cause) {
    throw new StoreUnusableError(
      builtIn === undefined
        ? `Node ${process.versions.node} has no SQLite of its own, and @photostructure/sqlite is not installed.`
        : `Node ${process.versions.node} brings SQLite ${builtIn.sqliteVersion}, which can lose committed writes when several processes share a file, and @photostructure/sqlite is not installed.`,
      {
        next: "Run `npm install @photostructure/sqlite`, or use Node 22.22.3, 24.15 or 26 and newer.",
        cause,
      },
    );
  }
}

function builtInDriver(): Driver | undefined {
  // Node 22 and early 24 print an ExperimentalWarning when the module is first loaded; that one alone is dropped.
  const emitWarning = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes("SQLite")) Reflect.apply(emitWarning, process, [warning, ...rest]);
  }) as typeof process.emitWarning;
  try {
    const builtIn = process.getBuiltinModule?.("node:sqlite" as "node:fs") as unknown as
      | { DatabaseSync: DatabaseClass }
      | undefined;
    return builtIn === undefined ? undefined : driver("node:sqlite", builtIn.DatabaseSync);
  } catch {
    return undefined; // unknown to this Node, or behind its flag
  } finally {
    process.emitWarning = emitWarning;
  }
}

function driver(name: string, Database: DatabaseClass): Driver {
  const database = new Database(":memory:");
  try {
    return { name, Database, sqliteVersion: sqliteVersion(database) };
  } finally {
    database.close();
  }
}

export function sqliteVersion(database: Database): string {
  return String(database.prepare("select sqlite_version() as version").get()?.["version"]);
}

/**
 * Whether this SQLite is free of the WAL-reset bug: two connections that write and checkpoint at one moment could lose
 * committed writes in 3.7.0 to 3.51.2. Fixed in 3.51.3 and in the branches 3.50.7 and 3.44.6.
 */
export function isWalSafe(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major !== 3) return major > 3;
  if (minor === 44) return patch >= 6;
  if (minor === 50) return patch >= 7;
  if (minor === 51) return patch >= 3;
  return minor > 51;
}
