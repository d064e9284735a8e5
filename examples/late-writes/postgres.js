// node examples/late-writes/postgres.js postgres://…: the late write would go to a table of that server. It stands in a
// schema of its own, which is dropped at the end.

import { basename } from "node:path";
import { postgresGuard } from "leasehold/destinations/postgres";
import pg from "pg";
import { tell } from "./story.js";

/** @param {string} folder */
const schemaOf = (folder) => basename(folder).toLowerCase().replaceAll("-", "_");

await tell({
  async serve(folder) {
    const [address] = process.argv.slice(2);
    if (!address?.startsWith("postgres")) {
      console.error("Give the address of a PostgreSQL server: postgres://USER:PASSWORD@HOST:PORT/DATABASE");
      process.exit(2);
    }
    const close = async () => {
      const client = new pg.Client(address);
      await client.connect();
      await client.query(`drop schema ${schemaOf(folder)} cascade`);
      await client.end();
    };
    return { address, close };
  },

  async open({ folder, address }) {
    const schema = schemaOf(folder);
    const pool = new pg.Pool({ connectionString: address });
    const guard = postgresGuard({ pool, schema });
    await guard.migrate();
    await pool.query(`create table if not exists ${schema}.note (text text)`);
    return {
      write: (lease, by) =>
        guard.write(lease, { step: "note" }, async (tx) => {
          await tx.query(`insert into ${schema}.note values ($1)`, [`written by ${by}`]);
          return by;
        }),
      async read() {
        const { rows } = await pool.query(`select text from ${schema}.note`);
        return rows.map(({ text }) => text).join(", ");
      },
      close: () => pool.end(),
    };
  },
});
