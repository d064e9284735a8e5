import type { Store } from "../../../src/stores/store.ts";
import type { Weighted } from "./plan.ts";
import type { StoreAddress } from "./processes/worker.js";
import type { AuditEntry, DestinationEntry } from "./record.ts";

/** Where a worker lives. */
export interface Home {
  /** This machine's address, as seen from there. Default: 127.0.0.1. */
  readonly host?: string;
  /** Put before a command, this runs it there. */
  readonly within?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

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
  /** Where these workers live, if elsewhere. */
  homeOf?(worker: number): Home;
  /** Of this machine: where its workers look for it. Default: 127.0.0.1. */
  readonly hosts?: readonly string[];
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
  /** What of it cannot be had on this machine, and why; that has not run, and so has not passed. */
  readonly skipped?: readonly string[];
  close(): Promise<void>;
}

/** Makes the ground of one run, whose files may lie in `folder`. */
export type MakeGround = (folder: string) => Promise<Ground>;
