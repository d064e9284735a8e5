// Jobs by the million: the product writes one, and the database copies it. So a copy has every column as the product leaves
// it, also in a later version; only what must differ (ids, inputs) is given. Nothing here is measured.

import pg from "pg";

const ROWS_A_STATEMENT = 1_000_000;

/** @typedef {Awaited<ReturnType<typeof openPostgresRows>>} PostgresRows */

/** @param {string} address @param {string} schema */
export async function openPostgresRows(address, schema) {
  const client = new pg.Client({ connectionString: address });
  client.on("error", () => {});
  await client.connect();
  await client.query("set synchronous_commit = off");
  const named = (/** @type {string} */ text) => text.replaceAll("{schema}", schema);
  /** Which columns can be given, and which the database gives itself. @param {string} table */
  const columnsOf = async (table) => {
    const { rows } = await client.query(
      `select quote_ident(attname) as name, attidentity <> '' or attgenerated <> '' as own
         from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
      [named(table)],
    );
    return rows;
  };
  return {
    /** Keeps the one row of `table` for which `where` is true, to be copied. */
    async keep(/** @type {string} */ sample, /** @type {string} */ table, where = "true") {
      const { rowCount } = await client.query(
        named(`create table {schema}.kept_${sample} as select * from ${table} where ${where}`),
      );
      if (rowCount !== 1) throw new Error(`${rowCount} rows of ${table} are a ${sample}, and not one`);
    },
    /**
     * @param {string} sample
     * @param {string} table
     * @param {number} count
     * @param {Record<string, string>} given SQL by column; g.n counts from `from` on, s is the kept row
     */
    async copy(sample, table, count, given, from = 1) {
      const names = (await columnsOf(table)).filter(({ own }) => !own).map(({ name }) => name);
      const values = names.map((name) => given[name] ?? `s.${name}`);
      const insert = named(
        `insert into ${table} (${names}) select ${values} from generate_series($1::bigint, $2::bigint) g (n),
         {schema}.kept_${sample} s order by g.n`,
      );
      for (let n = from; n < from + count; n += ROWS_A_STATEMENT) {
        await client.query(insert, [n, Math.min(n + ROWS_A_STATEMENT, from + count) - 1]);
      }
    },
    /** Whether all rows have the same in every column that is not `given`. */
    async areAlike(/** @type {string} */ table, /** @type {Record<string, string>} */ given) {
      const own = (await columnsOf(table)).filter((column) => column.own).map(({ name }) => name);
      const { rows } = await client.query(
        named(`select count(distinct to_jsonb(t) - $1::text[])::integer as kinds from ${table} t`),
        [[...own, ...Object.keys(given)]],
      );
      return rows[0].kinds === 1;
    },
    /** As the database sees it at the moment of the call. @param {string} text what gives a row for each job that is left */
    async count(text) {
      const { rows } = await client.query(named(`select count(*)::integer as found from (${text}) rows`));
      return rows[0].found;
    },
    /** What autovacuum would do soon after so many rows: while something is measured it is to have no reason to. */
    async rest(/** @type {string[]} */ ...tables) {
      for (const table of tables) await client.query(named(`vacuum (analyze) ${table}`));
      await client.query("checkpoint");
    },
    query: (/** @type {string} */ text, /** @type {unknown[]} */ values = []) =>
      client.query(named(text), values),
    close: () => client.end(),
  };
}
