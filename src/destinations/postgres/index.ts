import { systemWorld } from "../../clock/system.ts";
import type { JobId } from "../../protocol/identity.ts";
import type { AdmittedStep, Guard as AnyGuard, EffectLease, StepOptions } from "../destination.ts";
import type { Pruned } from "../pruned.ts";
import { type GuardPool, openPool } from "./driver.ts";
import { Guard } from "./guard.ts";
import { checkOptions, type PostgresGuardOptions } from "./options.ts";
import { type GuardTx, Transactions } from "./transactions.ts";

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
export type { GuardClient, GuardPool } from "./driver.ts";
export type { PostgresGuardOptions } from "./options.ts";
export type { GuardTx } from "./transactions.ts";

export interface PostgresGuard extends AnyGuard<GuardTx> {
  /** Makes the guard's tables and functions; the first call of anything else does it too, where it has the right. */
  migrate(): Promise<void>;
  /**
   * Admits the token and raises the mark in a transaction that the caller has opened on this database and commits
   * itself: what it writes there from now on is guarded. Of `pg`, postgres.js, Kysely, Drizzle, Knex, TypeORM, or
   * whatever answers `query(text, params)` with `{ rows }`. Fenced, and with a step deduplicated. The line, and the step,
   * stay locked until the transaction ends.
   *
   * @returns with a step: whether its effect is to be made (D4)
   * @throws {StaleTokenError} the transaction has failed: roll it back, as with any other error of this call
   * @throws {PrunedLineError | EffectMismatchError}
   * @throws {InvalidTransactionError} `tx` is no open transaction; from `keep`: it is over
   */
  admitIn(tx: unknown, lease: EffectLease): Promise<void>;
  admitIn<Answer = unknown>(
    tx: unknown,
    lease: EffectLease,
    effect: StepOptions,
  ): Promise<AdmittedStep<Answer, Promise<Answer>>>;
  /**
   * Gives up the marks and answers of jobs below `below` (D7), at most `limit` of each. From then on a token of such a
   * job is refused. `below` is not above the oldest job that is unfinished, or may be enqueued or retried yet; so it is
   * of no use to those who enqueue under ids of their own, which have no order.
   */
  prune(below: JobId, limit?: number): Promise<Pruned>;
  /** Ends the guard, and the pool if it is the guard's own. */
  close(): Promise<void>;
}

/**
 * Guards tables of a PostgreSQL database, version 15 or newer: marks, effects and answers are written in one transaction
 * of that database (D1). Fenced and deduplicated.
 *
 * Not protected: what a body does elsewhere than through its `tx`, and whoever writes to the tables past the guard.
 *
 * @throws {InvalidArgumentError} when neither a pool nor a connection string is given, or both
 */
export function postgresGuard(options: PostgresGuardOptions): PostgresGuard {
  const { schema, timeoutMs } = checkOptions(options);
  const world = options.world ?? systemWorld();
  const { pool, connectionString = "" } = options;
  if (pool !== undefined) {
    return new Guard(new Transactions(async () => pool, world, timeoutMs), world, schema, async () => {});
  }
  let own: ReturnType<typeof openPool> | undefined;
  const open = async (): Promise<GuardPool> => {
    own ??= openPool(connectionString, world.timers);
    return (await own).pool;
  };
  const end = async (): Promise<void> => (await own)?.end.end();
  return new Guard(new Transactions(open, world, timeoutMs), world, schema, end);
}
