import { resolve } from "node:path";
import { InvalidArgumentError } from "../../errors.ts";
import type { RenewalThreadSpec, Store } from "../store.ts";
import type { Database } from "./driver.ts";
import { newHandle } from "./open.ts";
import type { SqliteOptions } from "./options.ts";
import { SqliteStore } from "./store.ts";
import { fileOf } from "./transaction.ts";

export type { Database, Statement } from "./driver.ts";
export type { SqliteOptions } from "./options.ts";

/**
 * The embedded store: a SQLite file that several processes of one machine share. It is opened, and its schema made or
 * brought up to date, by the first call that needs it.
 *
 * Not promised: use over a network file system, or by machines that do not share one clock.
 *
 * @param options the file's path, or options
 * @throws {InvalidArgumentError} when neither a path nor a handle is given, or both
 */
export function sqlite(options: string | SqliteOptions): Store {
  const given: SqliteOptions = typeof options === "string" ? { path: options } : options;
  if ((given.path === undefined) === (given.database === undefined) || given.path === "") {
    throw new InvalidArgumentError(
      "sqlite",
      options,
      "the path of a database file, or { database } with an open handle",
    );
  }
  if (given.database !== undefined) {
    return new SqliteStore(given, fileOf(given.database) || ":memory:", undefined);
  }
  const path = given.path === ":memory:" ? ":memory:" : resolve(given.path as string);
  return new SqliteStore(given, path, renewalThread(path, given));
}

/**
 * Opens a database file with the SQLite that the store itself uses on this Node: for tables of the application beside
 * the jobs, and for `{ tx }`. The handle is the caller's to close.
 *
 * @throws {StoreUnusableError} when this Node has no SQLite that is safe, or the file cannot be opened
 */
export async function openDatabase(path: string): Promise<Database> {
  return newHandle(path);
}

/** A database in memory is its handle's alone; and sources that Node cannot load start no thread. */
function renewalThread(path: string, options: SqliteOptions): RenewalThreadSpec | undefined {
  if (path === ":memory:" || import.meta.url.endsWith(".ts")) return undefined;
  return {
    module: new URL("./renewal.js", import.meta.url),
    options: { path, synchronous: options.synchronous ?? "full" },
  };
}
