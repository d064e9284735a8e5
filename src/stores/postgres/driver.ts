/** What is used of `pg` (node-postgres), which the caller brings or which is loaded on first use. */

import { StoreUnusableError } from "../../errors.ts";
import type { EndingClient, EndingPool } from "../../node-postgres/ending.ts";

export interface PgQuery {
  readonly text: string;
  /** Prepared under this name once on each connection. */
  readonly name?: string;
  readonly rowMode?: "array";
  readonly values?: unknown[];
  readonly types?: { getTypeParser(oid: number, format?: string): (text: string) => unknown };
}

export interface PgNotice {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly routine?: string | undefined;
}

export interface PgClient {
  /** The server process that the connection leads to, as it was told at its start; a pooler tells a number of its own. */
  readonly processID?: number | null;
  // biome-ignore lint/suspicious/noExplicitAny: rows are as the statement makes them
  query(query: PgQuery): Promise<{ rows: any[] }>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "notice", listener: (notice: PgNotice) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "notice", listener: (notice: PgNotice) => void): unknown;
}

export interface PooledClient extends PgClient {
  /** With an error or true the connection is closed instead of being used again. */
  release(destroy?: Error | boolean): void;
}

export interface PgPool {
  connect(): Promise<PooledClient>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect", listener: (client: PgClient) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "connect", listener: (client: PgClient) => void): unknown;
}

/** A connection outside any pool, for listening. */
export interface PgConnection extends PgClient, EndingClient {
  /** The number of the server's process, as it was told when connecting; poolers make one up. */
  readonly processID?: number | null;
  connect(): Promise<unknown>;
  end(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "notice", listener: (notice: PgNotice) => void): unknown;
  on(event: "notification", listener: (message: { channel: string; payload?: string }) => void): unknown;
  on(event: "end", listener: () => void): unknown;
}

export interface Pg {
  readonly Pool: new (config: Record<string, unknown>) => PgPool & EndingPool;
  readonly Client: new (config: Record<string, unknown>) => PgConnection;
}

let loaded: Promise<Pg> | undefined;

/** @throws {StoreUnusableError} when `pg` is not installed */
export function loadPg(): Promise<Pg> {
  loaded ??= findPg().catch((error: unknown) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
}

async function findPg(): Promise<Pg> {
  try {
    // CommonJS: newer Nodes and bundlers differ in whether they show its names.
    const module = (await import("pg")) as unknown as { default?: Pg } & Pg;
    return module.default ?? module;
  } catch (cause) {
    throw new StoreUnusableError("The PostgreSQL store needs the package pg, which is not installed.", {
      next: "Run `npm install pg`, or pass your own pool: postgres({ pool }).",
      cause,
    });
  }
}
