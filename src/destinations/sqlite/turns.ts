/** Transactions on the caller's handle, none of which is open for longer than one turn of the event loop. */

import type { World } from "../../clock/world.ts";
import { StoreBusyError, UnknownOutcomeError } from "../../errors.ts";
import { Connection, HandleInUse } from "./connection.ts";
import { type GuardDatabase, isBusy, isDefinite } from "./database.ts";
import { Together, type Waiting } from "./together.ts";
import type { OpenTx } from "./tx.ts";

/** Nobody else has the write lock meanwhile. */
const MOST_TOGETHER = 500;

/** Somebody else has the file's write lock, or a transaction open on the handle. */
interface Busy {
  readonly busy: unknown;
}

/** Writes that wait together share one transaction and one write to the disk. */
export class Turns {
  readonly #connection: Connection;
  readonly #world: World;
  readonly #timeoutMs: number;
  readonly #waiting: Waiting[] = [];
  #isRunning = false;

  constructor(database: GuardDatabase, world: World, timeoutMs: number) {
    this.#connection = new Connection(database);
    this.#world = world;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Commits what `work` did, or undoes all of it, whatever becomes of others beside it.
   *
   * @throws {TransactionBodyError} `work` was still pending when the turn ended
   * @throws {StoreBusyError} certainly nothing was written: the write lock was not to be had
   * @throws {UnknownOutcomeError} the commit failed in a way that leaves it open, or somebody else's body ended the transaction
   */
  run<Result>(operation: string, work: (tx: OpenTx) => Promise<Result>): Promise<Result> {
    const beganMs = this.#world.clock.monotonicMs();
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({ operation, beganMs, work, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const busy = await this.#turn();
      if (busy === undefined) continue;
      this.#giveUp(busy);
      if (this.#waiting.length > 0) await this.#world.timers.sleep(1 + 2 * this.#world.random.next());
    }
    this.#isRunning = false;
  }

  /** All of them when it is not for want of the lock, else those who have waited for long enough. */
  #giveUp({ busy }: Busy): void {
    const nowMs = this.#world.clock.monotonicMs();
    const mayPass = isBusy(busy) || busy instanceof HandleInUse;
    for (const waiting of this.#waiting.splice(0)) {
      const waitedMs = nowMs - waiting.beganMs;
      if (!mayPass) waiting.reject(busy);
      else if (waitedMs < this.#timeoutMs) this.#waiting.push(waiting);
      else waiting.reject(new StoreBusyError(waiting.operation, waitedMs, busy));
    }
  }

  /**
   * Two callbacks that are asked for together have nothing but promises between them: no timer, no I/O of anybody's finds
   * the handle inside our transaction. The bodies follow each other in between; those for which it was too short are for the next.
   */
  #turn(): Promise<Busy | undefined> {
    return new Promise((resolve) => {
      let busy: Busy | undefined;
      let together: Together | undefined;
      let restore = (): void => {};
      this.#world.timers.nextTurn(() => {
        try {
          restore = this.#connection.begin();
        } catch (error) {
          busy = { busy: error };
          return;
        }
        together = new Together(this.#connection, this.#waiting.splice(0, MOST_TOGETHER));
        void together.run();
      });
      this.#world.timers.nextTurn(() => {
        if (together !== undefined) this.#finish(together);
        restore();
        resolve(busy);
      });
    });
  }

  #finish(together: Together): void {
    this.#waiting.unshift(...together.end());
    const { broken, hasWritten } = together;
    if (broken === undefined && hasWritten) {
      this.#commit(together);
      return;
    }
    this.#connection.rollBack();
    together.answer((operation) => new UnknownOutcomeError(operation, broken?.by));
  }

  #commit(together: Together): void {
    try {
      this.#world.reached("in-store-transaction");
      this.#connection.commit();
      together.answer();
    } catch (error) {
      this.#connection.rollBack();
      together.answer((operation) => failureOf(operation, error));
    }
  }
}

function failureOf(operation: string, error: unknown): unknown {
  if (isBusy(error)) return new StoreBusyError(operation, 0, error);
  return isDefinite(error) ? error : new UnknownOutcomeError(operation, error);
}
