import { systemWorld } from "../../clock/system.ts";
import type { World } from "../../clock/world.ts";
import { InvalidArgumentError } from "../../errors.ts";
import type { JobId } from "../../protocol/identity.ts";
import type { AdmittedStep, Guard as AnyGuard, EffectLease, StepOptions } from "../destination.ts";
import type { Pruned } from "../pruned.ts";
import type { GuardDatabase } from "./database.ts";
import { Guard } from "./guard.ts";
import type { GuardTx } from "./tx.ts";

export type {
  AdmittedStep,
  DestinationLevel,
  EffectLease,
  EffectOptions,
  ProbeResult,
  StepOptions,
} from "../destination.ts";
export type { Pruned } from "../pruned.ts";
export { EffectMismatchError, EffectRunningError, PrunedLineError, StaleTokenError } from "../refusals.ts";
export type { GuardDatabase, GuardStatement } from "./database.ts";
export type { GuardTx } from "./tx.ts";

export interface SqliteGuardOptions {
  /** The application's open handle on the file with the data: `node:sqlite`'s `DatabaseSync` or one alike. */
  readonly database: GuardDatabase;
  /** How long a write waits for the file's write lock, ms. Default 10,000. */
  readonly timeoutMs?: number;
  /** Time, timers and randomness; tests bring their own. */
  readonly world?: World;
}

export interface SqliteGuard extends AnyGuard<GuardTx> {
  /** Makes the guard's tables; the first call of anything else does it too. */
  migrate(): Promise<void>;
  /**
   * Admits the token and raises the mark in a transaction that the caller has opened on `database`, the guard's handle or
   * another one on the same file, and commits itself: what it writes there from now on is guarded. Fenced, and with a step
   * deduplicated; as durable as the caller's commit.
   *
   * @returns with a step: whether its effect is to be made (D4)
   * @throws {StaleTokenError | PrunedLineError | EffectMismatchError} roll the transaction back
   * @throws {InvalidTransactionError} there is no open transaction; from `keep`: it is over
   */
  admitIn(database: GuardDatabase, lease: EffectLease): void;
  admitIn<Answer = unknown>(
    database: GuardDatabase,
    lease: EffectLease,
    effect: StepOptions,
  ): AdmittedStep<Answer, Answer>;
  /**
   * Gives up the marks and answers of jobs below `below` (D7), at most `limit` of each. From then on a token of such a
   * job is refused. `below` is not above the oldest job that is unfinished, or may be enqueued or retried yet; so it is
   * of no use to those who enqueue under ids of their own, which have no order.
   */
  prune(below: JobId, limit?: number): Promise<Pruned>;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * Guards tables of a SQLite file, which several processes of one machine may share: marks, effects and answers are
 * written in one transaction (D1) that ends with the turn of the event loop in which it began. So a body is synchronous
 * or awaits `tx` alone; one that is still pending then is rolled back with `TransactionBodyError`. Writes that wait
 * together share a transaction, a savepoint each. Fenced and deduplicated.
 *
 * Not protected: what a body does elsewhere than through `tx` or the handle, and whoever writes to the tables past the
 * guard.
 *
 * @param options the handle, or options; the handle stays the caller's to close
 * @throws {InvalidArgumentError} when there is no handle
 */
export function sqliteGuard(options: GuardDatabase | SqliteGuardOptions): SqliteGuard {
  const isHandle = typeof (options as Partial<GuardDatabase>).prepare === "function";
  const given = (isHandle ? { database: options } : options) as SqliteGuardOptions;
  const { database, timeoutMs = DEFAULT_TIMEOUT_MS, world = systemWorld() } = given;
  if (typeof database?.prepare !== "function" || typeof database.exec !== "function") {
    throw new InvalidArgumentError(
      "database",
      database,
      "an open DatabaseSync, on the file that holds the data",
    );
  }
  if (!(timeoutMs >= 0)) throw new InvalidArgumentError("timeoutMs", timeoutMs, "milliseconds from 0 up");
  return new Guard(database, world, timeoutMs);
}
