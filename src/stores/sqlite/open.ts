import { existsSync, readFileSync } from "node:fs";
import type { World } from "../../clock/world.ts";
import {
  InvalidArgumentError,
  SchemaVersionError,
  StoreBusyError,
  StoreUnusableError,
} from "../../errors.ts";
import { nextEpoch } from "../../protocol/floor.ts";
import { newerSchema, type Warn } from "../warnings.ts";
import { type Database, isWalSafe, loadDriver, sqliteVersion } from "./driver.ts";
import { definite, isBusy } from "./failure.ts";
import { migrate, NEWEST, pendingMigrations, schemaIn } from "./migrate.ts";
import { readMoment } from "./moment.ts";
import type { SqliteOptions } from "./options.ts";
import { Statements } from "./statements.ts";

/** How long opening waits for other processes that open or migrate the same file, ms. */
const OPEN_TIMEOUT_MS = 30_000;

/**
 * A checkpoint syncs twice, and of a page that was written many times it writes the last state only: four times SQLite's
 * default takes a sixth off a lone enqueue's cost. The log grows to 16 MB.
 */
const PAGES_A_CHECKPOINT = 4_000;

/** A handle that is set up, on a file whose schema is the one that this version knows. */
export async function openDatabase(
  options: SqliteOptions,
  path: string,
  texts: ReadonlyMap<string, string>,
  world: World,
  warn: Warn,
): Promise<Database> {
  const database = options.database ?? (await newHandle(path));
  try {
    await patiently(world, () => refuseUnsafe(database, path));
    await patiently(world, () => setUp(database, options, path));
    await patiently(world, () => bringUpToDate(database, options, path, texts));
    const { version } = schemaIn(database);
    if (version > NEWEST) warn(newerSchema(`sqlite ${path}`, version, NEWEST));
    return database;
  } catch (error) {
    if (options.database === undefined) database.close();
    throw definite(error, "open", path);
  }
}

/** Calls `fn` with a handle that changes nothing in the file, which need not be there. */
export async function inspect<T>(
  options: SqliteOptions,
  path: string,
  fn: (database: Database) => T,
): Promise<T> {
  if (options.database !== undefined) return fn(options.database);
  const database = await newHandle(existsSync(path) ? path : ":memory:");
  try {
    return fn(database);
  } catch (error) {
    throw definite(error, "inspect", path);
  } finally {
    database.close();
  }
}

export async function newHandle(path: string): Promise<Database> {
  const { Database } = await loadDriver();
  try {
    return new Database(path);
  } catch (error) {
    throw definite(error, "open", path);
  }
}

function refuseUnsafe(database: Database, path: string): void {
  const version = sqliteVersion(database);
  if (path === ":memory:" || isWalSafe(version)) return;
  throw new StoreUnusableError(
    `The given database handle is SQLite ${version}, which can lose committed writes when several processes share a file.`,
    { next: "Use SQLite 3.51.3 or newer (or 3.50.7, 3.44.6), or give a path and let leasehold choose." },
  );
}

function setUp(database: Database, options: SqliteOptions, path: string): void {
  const synchronous = options.synchronous ?? "full";
  if (synchronous !== "full" && synchronous !== "normal") {
    throw new InvalidArgumentError("synchronous", synchronous, `"full" or "normal"`);
  }
  // We wait for the write lock ourselves; see Connection.
  database.exec("pragma busy_timeout = 0");
  const mode = String(database.prepare("pragma journal_mode = wal").get()?.["journal_mode"]);
  if (mode !== "wal" && mode !== "memory") {
    throw new StoreUnusableError(`${path} cannot be put into WAL mode: it stays in ${mode} mode.`, {
      next: "Put it on a local disk, where this user may write: network file systems do not work.",
    });
  }
  database.exec(`pragma synchronous = ${synchronous}`);
  database.exec("pragma cache_size = -16000");
  database.exec(`pragma wal_autocheckpoint = ${PAGES_A_CHECKPOINT}`);
}

function bringUpToDate(
  database: Database,
  options: SqliteOptions,
  path: string,
  texts: ReadonlyMap<string, string>,
): void {
  // Looked at first without the write lock: a worker that starts must not wait for somebody's long transaction.
  if (isUpToDate(database, options, path, texts)) return;
  if (options.migrate === false) refuseOlder(database, path);
  database.exec("begin immediate");
  try {
    migrate(database, path);
    if (options.synchronous === "normal") raiseFloorAfterBoot(new Statements(database, texts));
    database.exec("commit");
  } catch (error) {
    if (database.isTransaction !== false) database.exec("rollback");
    throw error;
  }
}

function isUpToDate(
  database: Database,
  options: SqliteOptions,
  path: string,
  texts: ReadonlyMap<string, string>,
): boolean {
  if (pendingMigrations(database, path).length > 0) return false;
  return options.synchronous !== "normal" || !isNewBoot(new Statements(database, texts));
}

function refuseOlder(database: Database, path: string): void {
  const pending = pendingMigrations(database, path);
  const needed = pending.at(-1)?.version;
  if (needed !== undefined) throw new SchemaVersionError(schemaIn(database).version, needed, path);
}

/** Under `synchronous=normal` a crash of the system may have lost acknowledged claims (section 1, *Floor*). */
function raiseFloorAfterBoot(statements: Statements): void {
  if (!isNewBoot(statements)) return;
  const moment = readMoment(statements);
  // A file that was never opened so before has lost nothing yet.
  if (notedBootId(statements) !== null) {
    statements.run("raise epoch", { epoch: nextEpoch(moment.epoch, moment.nowMs) });
  }
  statements.run("note boot", { boot_id: currentBootId() });
}

function isNewBoot(statements: Statements): boolean {
  const bootId = currentBootId();
  return bootId !== undefined && bootId !== notedBootId(statements);
}

function notedBootId(statements: Statements): string | null {
  return statements.get<{ boot_id: string | null }>("boot")?.boot_id ?? null;
}

/** Linux tells one boot from another; elsewhere nothing dependable does, and the floor is the operator's to raise. */
export function currentBootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}

/** Repeats `step` while other processes hold the file. */
async function patiently(world: World, step: () => void): Promise<void> {
  const beganMs = world.clock.monotonicMs();
  for (;;) {
    try {
      return step();
    } catch (error) {
      if (!isBusy(error)) throw error;
      const waitedMs = world.clock.monotonicMs() - beganMs;
      if (waitedMs > OPEN_TIMEOUT_MS) throw new StoreBusyError("open", waitedMs, error);
      await world.timers.sleep(2 + 8 * world.random.next());
    }
  }
}
