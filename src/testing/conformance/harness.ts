/** What a store brings to its conformance suite. */

import type { JobId } from "../../protocol/identity.ts";
import type { Store, Transaction, Tx } from "../../stores/store.ts";

/**
 * One fresh and empty store, and what a test needs to see or do beside its interface. The optional members are for
 * stores that have such a thing; a test that asks for a missing one fails, and is then to be listed among the gaps.
 */
export interface ConformanceWorld {
  readonly store: Store;

  /**
   * Moves one job's, named lease's or schedule's times back by `byMs`: the end of its lease, and when it is due. Time never
   * passes in this suite; this is how leases lapse. Whatever the store remembers of them outside that record (a sweep
   * done a moment ago, a prepared list) must not hide the change from the next call.
   */
  lapse(what: JobId | string, byMs: number): Promise<void>;

  /**
   * As if the store's clock had been set back by `byMs` (T5): those times, and when the next slot of a schedule was noted, lie
   * so much further in the future.
   */
  setBack(what: JobId | string, byMs: number): Promise<void>;

  /** The store on the same data as another process has it: opened, and a handle of its own where there is such a thing. */
  another(): Promise<Store>;

  /** A transaction of the caller's own on the same data. */
  begin(): Promise<CallersTransaction>;

  /** Writes a value that is not Leasehold's inside the body of `completeWith`. */
  writeInBody(tx: Tx, key: string, value: string): Promise<void>;

  /** A value written by `writeInBody` or a committed `CallersTransaction`; undefined when there is none. */
  read(key: string): Promise<string | undefined>;

  /**
   * Runs `body` while this process's clocks are wrong by `offsetMs`, and returns every parameter that the store bound
   * to its statements meanwhile; empty for a store without statements.
   */
  withWorkerClock(offsetMs: number, body: () => Promise<void>): Promise<readonly unknown[]>;

  /** A second, real process on the same data. */
  competitor?(): Promise<Competitor>;

  /** A handle on this store's data that from now on cannot be reached, or does not answer. */
  unreachable?(): Promise<Store>;

  /** Handles on one new store whose schema nobody has made yet, as ten processes that start at once have them. */
  unmigrated?(handles: number): Promise<readonly Store[]>;

  /** A handle on a store whose schema was made by a later version. */
  tooNew?(): Promise<Store>;

  close(): Promise<void>;
}

export interface CallersTransaction {
  /** What is passed as `tx`. */
  readonly tx: Transaction;
  write(key: string, value: string): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export interface Competitor {
  /** Its calls run in that process; errors arrive as plain ones, and functions cannot be passed. */
  readonly store: Store;
  /** Ends the process as SIGKILL does. */
  kill(): Promise<void>;
}

export interface ConformanceHarness {
  /** A new world for each test. */
  open(): Promise<ConformanceWorld>;
  /** How coarse the store's clock is. */
  readonly timePrecisionMs: number;
  /** Tests that this store cannot pass, each with its reason. A gap that passes after all is an error. */
  readonly gaps: readonly { readonly test: string; readonly because: string }[];
}

/** The world as a test gets it. */
export type TestWorld = ConformanceWorld & Pick<ConformanceHarness, "timePrecisionMs">;

export interface ConformanceTest {
  /** A sentence that names the rule, with its clause of the protocol. */
  readonly name: string;
  readonly run: (world: TestWorld) => Promise<void>;
}

export interface Chapter {
  readonly name: string;
  readonly tests: readonly ConformanceTest[];
}

export function test(name: string, run: (world: TestWorld) => Promise<void>): ConformanceTest {
  return { name, run };
}
