import pg from "pg";
import { admit } from "../../../src/protocol/destination-rule.ts";
import { type Fence, generation, type Owner } from "../../../src/protocol/identity.ts";

/** A destination: a table whose rows carry their mark, on a server that keeps what the store's server may lose. */
export interface FencedTable {
  /** D1: the mark is looked at, raised and the row written in one transaction. */
  write(fence: Fence, value: string): Promise<"admitted" | "refused">;
  read(fence: Fence): Promise<string | undefined>;
  drop(): Promise<void>;
}

let tables = 0;

export async function fencedTable(connectionString: string): Promise<FencedTable> {
  tables += 1;
  const table = `fenced_${process.pid}_${tables}`;
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(
    `create table ${table} (job uuid primary key, generation bigint, owner text, value text)`,
  );
  return {
    async write({ jobId, generation: claimed, owner }, value) {
      await client.query("begin");
      const { rows } = await client.query(
        `select generation, owner from ${table} where job = $1 for update`,
        [jobId],
      );
      const mark =
        rows[0] === undefined
          ? undefined
          : { generation: generation(Number(rows[0].generation)), owner: rows[0].owner as Owner };
      const { admitted } = admit(mark, { generation: claimed, owner });
      if (admitted) {
        await client.query(
          `insert into ${table} values ($1, $2, $3, $4)
           on conflict (job) do update set generation = $2, owner = $3, value = $4`,
          [jobId, claimed, owner, value],
        );
      }
      await client.query("commit");
      return admitted ? "admitted" : "refused";
    },
    async read({ jobId }) {
      const { rows } = await client.query(`select value from ${table} where job = $1`, [jobId]);
      return rows[0]?.value as string | undefined;
    },
    async drop() {
      await client.query(`drop table ${table}`);
      await client.end();
    },
  };
}
