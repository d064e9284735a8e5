/** Where a store is: its pool, its listening connection, and its name for people, which holds no password. */

import type { Timers } from "../../clock/world.ts";
import { InvalidArgumentError } from "../../errors.ts";
import { PoolEnd } from "../../node-postgres/ending.ts";
import { loadPg, type PgConnection, type PgPool } from "./driver.ts";
import { DEFAULT_MAX_CONNECTIONS, DEFAULT_SCHEMA, type PostgresOptions } from "./options.ts";

/** How long one attempt to connect may take, ms. */
const CONNECT_TIMEOUT_MS = 10_000;
/**
 * For renewals: an attempt that began while the network was cut says nothing for seconds after it has healed, and leases
 * do not wait for it.
 */
const RENEWAL_CONNECT_TIMEOUT_MS = 2_000;
/** Connections that may wait for an answer which nobody waits for any more. */
const MOST_LINGERING = 2;

const COMMON = {
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  keepAlive: true,
};

/** What operators read in `pg_stat_activity`, unless the caller's address has an `application_name`. */
export type ConnectionName = "leasehold" | "leasehold listen" | "leasehold renew";

function named(fallback: ConnectionName): Record<string, unknown> {
  return { ...COMMON, fallback_application_name: fallback };
}

export function schemaOf(options: PostgresOptions): string {
  const schema = options.schema ?? DEFAULT_SCHEMA;
  if (typeof schema !== "string" || !/^[a-z_][a-z0-9_]{0,47}$/i.test(schema)) {
    throw new InvalidArgumentError("schema", schema, "letters, digits and _, 48 at most, no digit first");
  }
  return schema;
}

export interface OpenPool {
  readonly pool: PgPool;
  /** How many of its connections may go on waiting for the answer of a call that was given up. */
  readonly mayLinger: number;
  /** Undefined when the pool is the caller's to end. */
  readonly end: PoolEnd | undefined;
}

/** @throws {StoreUnusableError} when `pg` is needed and missing */
export async function openPool(
  options: PostgresOptions,
  name: ConnectionName,
  timers: Timers,
): Promise<OpenPool> {
  if (options.pool !== undefined) return { pool: options.pool, mayLinger: 0, end: undefined };
  const pg = await loadPg();
  const max = options.maxConnections ?? DEFAULT_MAX_CONNECTIONS;
  const renews = name === "leasehold renew";
  const end = new PoolEnd(timers);
  const pool = end.open(pg, {
    ...named(name),
    ...(renews ? { connectionTimeoutMillis: RENEWAL_CONNECT_TIMEOUT_MS } : {}),
    connectionString: options.connectionString,
    max,
  });
  // One at least is for the calls that are made.
  return { pool, mayLinger: Math.min(MOST_LINGERING, max - 1), end };
}

/** Not yet connected; gives up a statement that gets no answer. */
export async function connectionTo(connectionString: string): Promise<PgConnection> {
  const { Client } = await loadPg();
  return new Client({ ...COMMON, connectionString, query_timeout: CONNECT_TIMEOUT_MS });
}

/** Not yet connected; undefined when there is no way to make one. */
export async function listeningConnection(options: PostgresOptions): Promise<PgConnection> {
  const address = typeof options.listen === "string" ? options.listen : options.connectionString;
  if (address !== undefined) {
    const { Client } = await loadPg();
    return new Client({ ...named("leasehold listen"), connectionString: address });
  }
  // A pg.Pool knows how it makes its connections; one of its own would be missing from the pool.
  const pool = options.pool as unknown as PoolInside;
  const Client = pool.Client ?? (await loadPg()).Client;
  return new Client({ ...pool.options, ...named("leasehold listen") });
}

interface PoolInside {
  readonly options?: Record<string, unknown>;
  readonly Client?: new (config: Record<string, unknown>) => PgConnection;
}

export function describeAddress(options: PostgresOptions, schema: string): string {
  const suffix = schema === DEFAULT_SCHEMA ? "" : ` schema ${schema}`;
  return `postgres ${placeOf(options)}${suffix}`;
}

function placeOf({ connectionString, pool }: PostgresOptions): string {
  if (connectionString === undefined) {
    const { host, port, database, connectionString: inside } = (pool as unknown as PoolInside).options ?? {};
    if (typeof inside === "string") return placeOf({ connectionString: inside });
    return `${host ?? "localhost"}:${port ?? 5432}/${database ?? ""}`;
  }
  try {
    const { hostname, port, pathname } = new URL(connectionString);
    return `${hostname || "localhost"}:${port || "5432"}${pathname}`;
  } catch {
    return "at the given address";
  }
}
