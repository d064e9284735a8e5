import type { World } from "../../clock/world.ts";
import type { Database } from "./driver.ts";
import type { Trace } from "./statements.ts";

export interface SqliteOptions {
  /** The database file; made when it is missing. Its folder must be there, on a local disk. `:memory:` for none. */
  readonly path?: string;
  /**
   * Instead of `path`: the caller's own open handle (`node:sqlite`'s `DatabaseSync` or one alike). It stays the
   * caller's to close. Renewal is then inline: another thread cannot use the handle.
   */
  readonly database?: Database;
  /**
   * `full` (default): what was acknowledged survives a power cut. `normal`: it survives a crash of the process, but the
   * last commits before a power cut or crash of the system may be lost; so the first opening after a new boot raises
   * the floor, and leases from before are refused (protocol section 1).
   */
  readonly synchronous?: "full" | "normal";
  /** False: opening a file with an older schema throws `SchemaVersionError` instead of migrating it. Default true. */
  readonly migrate?: boolean;
  /** How long a lapsed lease may go unnoticed, ms (C15). Default 250. */
  readonly sweepMs?: number;
  /** For diagnosis: sees every statement's name and parameters. */
  readonly trace?: Trace;
  /** Time, timers and randomness; tests bring their own. */
  readonly world?: World;
}

export const DEFAULT_SWEEP_MS = 250;
