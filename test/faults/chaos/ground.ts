import type { Store } from "../../../src/stores/store.ts";
import type { Weighted } from "./plan.ts";
import type { StoreAddress } from "./processes/worker.js";
import type { AuditEntry, DestinationEntry } from "./record.ts";

/** A place for the jobs, with the destination `database` beside them, and eyes of the harness's own. */
export interface Ground {
  /** "sqlite", "pg 15". */
  readonly description: string;
  /** Where workers find the store: maybe by a way on which things get lost. */
  readonly store: StoreAddress;
  /** Where these workers do instead, who are counted from 0. */
  storeOf?(worker: number): StoreAddress;
  /** PostgreSQL: where workers find the destination, if elsewhere. */
  readonly databaseUrl?: string;
  /** A store for the harness itself, not by that way. The harness closes it. */
  open(): Store;
  /** After the store's schema is there: from now on every change of a job is recorded. */
  prepare(): Promise<void>;
  /** In the store's serial order. */
  audit(): Promise<AuditEntry[]>;
  decisions(): Promise<DestinationEntry[]>;
  /** What old primaries had committed and their successors have not. */
  lost?(): readonly AuditEntry[];
  /** What befalls this ground. */
  readonly nemeses?: readonly Weighted[];
  close(): Promise<void>;
}

/** Makes the ground of one run, whose files may lie in `folder`. */
export type MakeGround = (folder: string) => Promise<Ground>;
