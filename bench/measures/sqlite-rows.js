// The same as postgres-rows.js in a SQLite file, by the library that the product uses: two of them in one process would
// give up each other's locks. The handle is open only while somebody asks.

import { loadDriver } from "../../dist/stores/sqlite/driver.js";

/** Its log holds them all until they are committed. */
const ROWS_A_STATEMENT = 1_000_000;

/** @param {string} path */
export async function openSqliteRows(path) {
  const { Database } = await loadDriver();
  /** @template T @param {(handle: import("../../dist/stores/sqlite/driver.js").Database) => T} fn */
  const open = (fn) => {
    const handle = new Database(path);
    try {
      handle.exec("pragma busy_timeout = 5000; pragma synchronous = off; pragma cache_size = -200000");
      return fn(handle);
    } finally {
      handle.close();
    }
  };
  const columnsOf = (handle, table) =>
    handle
      .prepare(`select name, pk from pragma_table_info('${table}')`)
      .all()
      .map(({ name, pk }) => ({ name: String(name), own: pk === 1 }));
  return {
    async keep(/** @type {string} */ sample, /** @type {string} */ table, where = "true") {
      open((handle) => {
        handle.exec(`create table kept_${sample} as select * from ${table} where ${where}`);
        const { found } = handle.prepare(`select count(*) as found from kept_${sample}`).get();
        if (found !== 1) throw new Error(`${found} rows of ${table} are a ${sample}, and not one`);
      });
    },
    /**
     * @param {string} sample
     * @param {string} table
     * @param {number} count
     * @param {Record<string, string>} given
     */
    async copy(sample, table, count, given, from = 1) {
      open((handle) => {
        const names = columnsOf(handle, table)
          .filter(({ own }) => !own)
          .map(({ name }) => name);
        const values = names.map((name) => given[name] ?? `s.${name}`);
        const insert = handle.prepare(
          `with recursive g (n) as (select :from union all select n + 1 from g where n < :to)
           insert into ${table} (${names}) select ${values} from kept_${sample} s cross join g`,
        );
        for (let n = from; n < from + count; n += ROWS_A_STATEMENT)
          insert.run({ from: n, to: Math.min(n + ROWS_A_STATEMENT, from + count) - 1 });
      });
    },
    async areAlike(/** @type {string} */ table, /** @type {Record<string, string>} */ given) {
      return open((handle) => {
        const same = columnsOf(handle, table).filter(({ name, own }) => !own && given[name] === undefined);
        const names = same.map(({ name }) => name);
        return handle.prepare(`select distinct ${names} from ${table}`).all().length === 1;
      });
    },
    async count(/** @type {string} */ text) {
      return open((handle) => Number(handle.prepare(`select count(*) as found from (${text})`).get()?.found));
    },
    async rest() {
      open((handle) => handle.exec("pragma wal_checkpoint(truncate)"));
    },
    async close() {},
  };
}
