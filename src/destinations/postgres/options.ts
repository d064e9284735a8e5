import type { World } from "../../clock/world.ts";
import { InvalidArgumentError } from "../../errors.ts";
import type { GuardPool } from "./driver.ts";

export interface PostgresGuardOptions {
  /** The `pg.Pool` of the database that holds the data. It stays the caller's to close. */
  readonly pool?: GuardPool;
  /** Instead of `pool`: `postgres://user:password@host:5432/database`, for a pool of the guard's own. */
  readonly connectionString?: string;
  /** The schema of the guard's tables and functions, in the database that holds the data. Default `leasehold_guard`. */
  readonly schema?: string;
  /** How long a write may take in all, with its body and the wait for another writer of its line, ms. Default 10,000. */
  readonly timeoutMs?: number;
  /** Time, timers and randomness; tests bring their own. */
  readonly world?: World;
}

export const DEFAULT_GUARD_SCHEMA = "leasehold_guard";
const DEFAULT_TIMEOUT_MS = 10_000;

/** Checked before anything is opened. */
export function checkOptions(options: PostgresGuardOptions): { schema: string; timeoutMs: number } {
  const { pool, connectionString, schema = DEFAULT_GUARD_SCHEMA, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  if ((pool === undefined) === (connectionString === undefined) || connectionString === "") {
    throw new InvalidArgumentError(
      "postgresGuard",
      pool === undefined ? "no address" : "two addresses", // no password in a message
      "{ pool } with a pg.Pool, or { connectionString }",
    );
  }
  if (typeof schema !== "string" || !/^[a-z_][a-z0-9_]{0,47}$/.test(schema)) {
    throw new InvalidArgumentError(
      "schema",
      schema,
      "small letters, digits and _, 48 at most, no digit first",
    );
  }
  if (!(timeoutMs >= 1 && timeoutMs <= 2 ** 31 - 1))
    throw new InvalidArgumentError("timeoutMs", timeoutMs, "milliseconds from 1 up");
  return { schema, timeoutMs };
}
