// What a database says of the table of jobs while leases are renewed.

import { statSync } from "node:fs";
import { openPostgresRows } from "./postgres-rows.js";
import { openSqliteRows } from "./sqlite-rows.js";

const MB = 2 ** 20;

/**
 * @typedef {{ mb: number, dead?: number, updates?: number, hot?: number }} Looked size of the table with its indexes, or
 *   of the file with its log; and by PostgreSQL's statistics: dead rows now, rows updated so far, those of them heap-only
 * @typedef {object} Watch
 * @property {() => Promise<Looked>} look
 * @property {() => Promise<number>} held how many jobs have an owner whose lease has not lapsed, by the database's clock
 * @property {() => Promise<unknown>} close
 */

/** @param {import("../cases.js").Setting} setting @param {import("../systems/system.js").Place} place @returns {Promise<Watch>} */
export async function watchOf(setting, place) {
  return setting.database === "postgres" ? watchPostgres(place) : watchSqlite(place);
}

/** @param {import("../systems/system.js").Place} place @returns {Promise<Watch>} */
async function watchPostgres({ address, schema }) {
  const rows = await openPostgresRows(address, schema);
  return {
    async look() {
      const { rows: found } = await rows.query(
        `select pg_total_relation_size('{schema}.job') / ${MB}.0 as mb, n_dead_tup::float8 as dead,
                n_tup_upd::float8 as updates, n_tup_hot_upd::float8 as hot
           from pg_stat_user_tables where relid = '{schema}.job'::regclass`,
      );
      const { mb, dead, updates, hot } = found[0];
      return { mb: Number(mb), dead, updates, hot };
    },
    held: () =>
      rows.count(
        `select from {schema}.job where owner is not null and lease_until > extract(epoch from clock_timestamp()) * 1000`,
      ),
    close: rows.close,
  };
}

/** @param {import("../systems/system.js").Place} place @returns {Promise<Watch>} */
async function watchSqlite({ address }) {
  const rows = await openSqliteRows(address);
  return {
    look: async () => ({ mb: (statSync(address).size + statSync(`${address}-wal`).size) / MB }),
    held: () =>
      rows.count(
        "select 1 from leasehold_job where owner is not null and lease_until > unixepoch('subsec') * 1000",
      ),
    close: rows.close,
  };
}
