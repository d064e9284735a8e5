// No job queue: what a row that is inserted and told of, and then taken by an update, costs on this machine when each of the two
// is committed to its disk. Nothing is leased, counted, kept or made good. It stands beside the others as the limit that
// a queue on the same server cannot fall below with a commit for each job.

import { createRequire } from "node:module";
import pg from "pg";

const { version } = createRequire(import.meta.url)("pg/package.json");

/** As many as `pg` has by default. */
const CONNECTIONS = 10;

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    name: "bare PostgreSQL",
    version,
    settings: "no queue: an insert with a notification, and an update, through node-postgres",
    on: "postgres",
    takesPart: ["enqueue", "wake-up"],
    doors: ["bulk"],
    jobsToDrain: {},
    atOnce: false,
    open,
  },
];

/** @param {import("./system.js").Place} place @returns {Promise<import("./system.js").Opened>} */
async function open({ address, schema }) {
  const pool = new pg.Pool({ connectionString: address, max: CONNECTIONS });
  await pool.query(`create schema if not exists ${schema}`);
  await pool.query(
    `create table if not exists ${schema}.bare (id bigint generated always as identity primary key, input jsonb, owner text)`,
  );
  // Prepared, as a name makes it.
  const insert = {
    name: "insert",
    text: `with added as (insert into ${schema}.bare (input) values ($1) returning id)
     select pg_notify('${schema}', id::text) from added`,
  };
  const insertMany = {
    name: "insert many",
    text: `insert into ${schema}.bare (input) select * from jsonb_array_elements($1::jsonb)`,
  };
  const take = {
    name: "take",
    text: `update ${schema}.bare set owner = 'me' where id = $1 and owner is null returning input`,
  };
  let listener;
  return {
    add: (input) => pool.query({ ...insert, values: [JSON.stringify(input)] }),
    addMany: (inputs) => pool.query({ ...insertMany, values: [JSON.stringify(inputs)] }),
    async work({ onStart }) {
      listener = new pg.Client({ connectionString: address });
      listener.on("notification", async ({ payload }) => {
        const { rows } = await pool.query({ ...take, values: [payload] });
        for (const { input } of rows) onStart(input.n);
      });
      await listener.connect();
      await listener.query(`listen ${schema}`);
    },
    async close() {
      await listener?.end();
      await pool.end();
    },
  };
}
