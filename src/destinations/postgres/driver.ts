/** What is used of `pg` (node-postgres), which the caller brings or which is loaded on first use. */

import type { Timers } from "../../clock/world.ts";
import { StoreUnusableError } from "../../errors.ts";
import { type EndingPg, type EndingPool, PoolEnd } from "../../node-postgres/ending.ts";

export interface GuardClient {
  // biome-ignore lint/suspicious/noExplicitAny: rows are as the statement makes them
  query(text: string, params?: unknown[]): Promise<{ rows: any[]; command?: string }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  /** With true the connection is closed instead of being used again. */
  release(destroy?: boolean): void;
}

/** A `pg.Pool`. */
export interface GuardPool {
  connect(): Promise<GuardClient>;
}

interface Listening {
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect", listener: (client: GuardClient) => void): unknown;
}

type Pg = EndingPg<GuardPool & EndingPool & Listening>;

interface OwnPool {
  readonly pool: GuardPool;
  readonly end: PoolEnd;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** @throws {StoreUnusableError} when `pg` is not installed */
export async function openPool(connectionString: string, timers: Timers): Promise<OwnPool> {
  const end = new PoolEnd(timers);
  const pool = end.open(await loadPg(), {
    connectionString,
    max: 4,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    fallback_application_name: "leasehold guard",
  });
  pool.on("error", () => {}); // an idle connection was lost: the pool makes another
  // One may be lost in the packet that opens it, when the pool listens no longer and its user not yet.
  pool.on("connect", (client) => client.on("error", () => {}));
  return { pool, end };
}

async function loadPg(): Promise<Pg> {
  try {
    // CommonJS: newer Nodes and bundlers differ in whether they show its names.
    const module = (await import("pg")) as unknown as { default?: Pg } & Pg;
    return module.default ?? module;
  } catch (cause) {
    throw new StoreUnusableError("The PostgreSQL guard needs the package pg, which is not installed.", {
      next: "Run `npm install pg`, or pass your own pool: postgresGuard({ pool }).",
      cause,
    });
  }
}

/** The five letters and digits that the server gives with an error, however deep a library has wrapped it. */
export function serverError(error: unknown): ServerError | undefined {
  for (let at = error as Wrapped | undefined, depth = 0; at instanceof Object && depth < 5; depth++) {
    // `severity` or `severity_local`: only what a server has said has one.
    if (typeof at.code === "string" && (at.severity ?? at.severity_local) !== undefined)
      return { state: at.code, detail: at.detail, schema: at.schema, table: at.table };
    at = (at.cause ?? at.driverError ?? at.originalError) as Wrapped | undefined;
  }
  return undefined;
}

export interface ServerError {
  readonly state: string;
  readonly detail: unknown;
  /** Of the table whose constraint was hurt. */
  readonly schema: unknown;
  readonly table: unknown;
}

interface Wrapped {
  readonly code?: unknown;
  readonly schema?: unknown;
  readonly table?: unknown;
  readonly severity?: unknown;
  readonly severity_local?: unknown;
  readonly detail?: unknown;
  readonly cause?: unknown;
  readonly driverError?: unknown;
  readonly originalError?: unknown;
}
