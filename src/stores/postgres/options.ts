import type { World } from "../../clock/world.ts";
import type { PgPool } from "./driver.ts";
import type { Trace } from "./statements.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host:5432/database`. */
  readonly connectionString?: string;
  /**
   * Instead of `connectionString`: the caller's own `pg.Pool`. It stays the caller's to close. Renewal is then inline,
   * and shares the pool with everything else that uses it.
   */
  readonly pool?: PgPool;
  /** The PostgreSQL schema that holds everything; one installation each. Default `leasehold`. */
  readonly schema?: string;
  /** Most connections that this store opens, beside the one that listens. Default 4. Not with `pool`. */
  readonly maxConnections?: number;
  /**
   * Where to listen for wake-ups: a connection string that leads straight to the server, for when the other one leads
   * through a pooler. False: no listening, polling only. Default: the address of the store.
   */
  readonly listen?: string | false;
  /** False: opening a store with an older schema throws `SchemaVersionError` instead of migrating it. Default true. */
  readonly migrate?: boolean;
  /** How long a lapsed lease, or a job that has come before others, may go unnoticed, ms (C15). Default 200. */
  readonly sweepMs?: number;
  /** For diagnosis: sees every statement's name and parameters. */
  readonly trace?: Trace;
  /** Time, timers and randomness; tests bring their own. */
  readonly world?: World;
}

export const DEFAULT_SCHEMA = "leasehold";

/** Below the protocol's 250, because a busy worker makes a claim that takes over every 200 ms. */
export const DEFAULT_SWEEP_MS = 200;

export const DEFAULT_MAX_CONNECTIONS = 4;
