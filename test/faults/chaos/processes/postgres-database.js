// The destination `database` on PostgreSQL: tables in the database of the jobs, behind our guard.

import { postgresGuard, StaleTokenError } from "leasehold/destinations/postgres";
import pg from "pg";
import { PoolEnd } from "../../../../dist/node-postgres/ending.js";
import { decisionRow, INSERT_DECISION } from "./decisions.js";

/** How long one statement may take, ms: a frozen owner may hold the lock on its line. */
const TIMEOUT_MS = 1_500;

/**
 * @param {string} connectionString
 * @param {import("../../../../src/clock/world.ts").World} world
 * @returns {Promise<import("./effects.js").GuardedDatabase>}
 */
export async function postgresDatabase(connectionString, world) {
  const end = new PoolEnd(world.timers);
  const pool = end.open(pg, { connectionString, max: 4, query_timeout: TIMEOUT_MS });
  pool.on("error", () => {}); // an idle connection that was ended: the next query opens another
  pool.on("connect", (client) => client.on("error", () => {})); // one in use: its next query fails
  const guard = postgresGuard({ connectionString, timeoutMs: TIMEOUT_MS, world });

  /** @param {(client: pg.PoolClient) => Promise<unknown>} work */
  async function transaction(work) {
    const client = await pool.connect();
    let isBroken = true;
    try {
      // Not as a parameter of the connection, which a pooler refuses.
      await client.query(`begin; set local statement_timeout = ${TIMEOUT_MS}`);
      const result = await work(client);
      await client.query("commit");
      isBroken = false;
      return result;
    } finally {
      client.release(isBroken);
    }
  }

  return {
    guard,
    async admitted({ token, effectScope, assertTrusted }, effect, sql, params, told) {
      // Looked at here, and not again behind the point at which a process is stopped: late effects are what is wanted.
      assertTrusted?.();
      world.reached("before-effect-send");
      const answer = await transaction(async (client) => {
        /** @param {import("./decisions.js").Decision} decision */
        const log = (decision) => client.query(INSERT_DECISION, decisionRow("database", decision));
        const step = await guard.admitIn(client, { token, effectScope }, effect);
        if (!step.isFresh) {
          await log(told("duplicate", step.answer));
          return step.answer;
        }
        const { rows } = await client.query(sql, [...params]);
        const made = told.answer(rows[0]);
        await step.keep(made);
        await log(told("applied", made));
        world.reached("in-store-transaction");
        return made;
      });
      world.reached("after-effect-reply");
      return answer;
    },
    log: async (decision) => void (await pool.query(INSERT_DECISION, decisionRow("database", decision))),
    isStale: (error) => error instanceof StaleTokenError,
    close: async () => {
      await guard.close();
      await end.end();
    },
  };
}
