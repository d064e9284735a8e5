// The destination `database` on SQLite: tables in the file of the jobs, behind our guard.

import { StaleTokenError, sqliteGuard } from "leasehold/destinations/sqlite";
import { openDatabase } from "leasehold/sqlite";
import { decisionRow, INSERT_DECISION } from "./decisions.js";
import { monotonicMs } from "./history-file.js";

/** How long a transaction of the harness waits for the file's write lock, ms. */
const WAIT_MS = 1_500;
const LOOK_EVERY_MS = 3;

/**
 * @param {string} path
 * @param {import("../../../../src/clock/world.ts").World} world
 * @returns {Promise<import("./effects.js").GuardedDatabase>}
 */
export async function sqliteDatabase(path, world) {
  // The guard holds its handle's transaction over a turn's end; what opens transactions itself needs a handle of its own.
  const [mine, guarded] = [await openDatabase(path), await openDatabase(path)];
  for (const database of [mine, guarded]) database.exec("pragma synchronous = normal");
  const guard = sqliteGuard({ database: guarded, timeoutMs: WAIT_MS, world });

  /** @param {() => unknown} work synchronous, so that nobody else finds the handle in its transaction */
  async function transaction(work) {
    const untilMs = monotonicMs() + WAIT_MS;
    for (;;) {
      try {
        mine.exec("begin immediate");
        break;
      } catch (error) {
        if (monotonicMs() > untilMs) throw error;
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    }
    try {
      const result = work();
      mine.exec("commit");
      return result;
    } catch (error) {
      if (mine.isTransaction) mine.exec("rollback");
      throw error;
    }
  }

  /** @param {string} text @param {readonly unknown[]} params */
  const run = (text, params) =>
    mine.prepare(text).all(Object.fromEntries(params.map((value, i) => [`$${i + 1}`, value])));
  /** @param {import("./decisions.js").Decision} decision */
  const log = (decision) => run(INSERT_DECISION, decisionRow("database", decision));

  return {
    guard,
    async admitted({ token, effectScope, assertTrusted }, effect, sql, params, told) {
      // Looked at here, and not again behind the point at which a process is stopped: late effects are what is wanted.
      assertTrusted?.();
      world.reached("before-effect-send");
      const answer = await transaction(() => {
        const step = guard.admitIn(mine, { token, effectScope }, effect);
        if (!step.isFresh) {
          log(told("duplicate", step.answer));
          return step.answer;
        }
        const [row] = run(sql, params);
        const made = told.answer(row);
        step.keep(made);
        log(told("applied", made));
        world.reached("in-store-transaction");
        return made;
      });
      world.reached("after-effect-reply");
      return answer;
    },
    log: async (decision) => void (await transaction(() => log(decision))),
    isStale: (error) => error instanceof StaleTokenError,
    close: async () => {
      mine.close();
      guarded.close();
    },
  };
}
