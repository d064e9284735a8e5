import { openPool } from "../../../destinations/postgres/driver.ts";
import { postgresGuard } from "../../../destinations/postgres/index.ts";
import type { Account, AccountPlace } from "./account.ts";

/** A table on the given server, in a schema of its own that is dropped at the end. */
export async function openPostgres({ address, name }: AccountPlace): Promise<Account> {
  const pool = await openPool(address);
  const guard = postgresGuard({ pool, schema: name });
  const query = async (text: string) => {
    const client = await pool.connect();
    return client.query(text).finally(() => client.release());
  };
  await guard.migrate();
  await query(`create table if not exists "${name}".entry (generation bigint, cents int)`);
  return {
    destination: guard,
    credit: (lease, cents) =>
      guard.write(lease, { step: "credit", request: { cents } }, async (tx) => {
        await tx.query(`insert into "${name}".entry values ($1, $2)`, [lease.token.generation, cents]);
        return { cents };
      }),
    entries: async () => (await query(`select generation::float8, cents from "${name}".entry`)).rows,
    remove: () => query(`drop schema "${name}" cascade`),
    close: () => pool.end(),
  };
}
