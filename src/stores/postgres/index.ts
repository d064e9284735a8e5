import { InvalidArgumentError } from "../../errors.ts";
import type { RenewalThreadSpec, Store } from "../store.ts";
import { schemaOf } from "./address.ts";
import type { PostgresOptions } from "./options.ts";
import { PostgresStore } from "./store.ts";

export type { PgPool } from "./driver.ts";
export type { PostgresOptions } from "./options.ts";

/**
 * The store for many machines: a PostgreSQL database, version 15 or newer. It is opened, and its schema made or brought
 * up to date, by the first call that needs it.
 *
 * Not promised: that what a server acknowledged survives its loss. That is `synchronous_commit` and its standbys'
 * business; what is promised is that generations given out before a failover are never given out again (C3), whatever
 * was lost.
 *
 * @param options a connection string, or options
 * @throws {InvalidArgumentError} when neither a connection string nor a pool is given, or both
 */
export function postgres(options: string | PostgresOptions): Store {
  const given: PostgresOptions = typeof options === "string" ? { connectionString: options } : options;
  if (
    (given?.connectionString === undefined) === (given?.pool === undefined) ||
    given.connectionString === ""
  ) {
    throw new InvalidArgumentError(
      "postgres",
      typeof options === "string" ? "" : options, // no password in a message
      "a connection string such as postgres://user@host:5432/database, or { pool } with a pg.Pool",
    );
  }
  const schema = schemaOf(given);
  return new PostgresStore(given, schema, renewalThread(given, schema));
}

/** A pool is its process's alone; and sources that Node cannot load start no thread. */
function renewalThread({ connectionString }: PostgresOptions, schema: string): RenewalThreadSpec | undefined {
  if (connectionString === undefined || import.meta.url.endsWith(".ts")) return undefined;
  return { module: new URL("./renewal.js", import.meta.url), options: { connectionString, schema } };
}
