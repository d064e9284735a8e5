import { systemWorld } from "../../clock/system.ts";
import { openPool } from "../../destinations/postgres/driver.ts";
import { postgresGuard } from "../../destinations/postgres/index.ts";
import type { Account, AccountPlace } from "./account.ts";

/** A table on the given server, in a schema of its own that is dropped at the end. */
export async function openPostgres({ address, name }: AccountPlace): Promise<Account> {
  const { pool, end } = await openPool(address, systemWorld().timers);
  const guard = postgresGuard({ pool, schema: name });
  const query = async (text: string) => {
    const client = await pool.connect();
    return client.query(text).finally(() => client.release());
  };
  await guard.migrate();
  await query(`create table if not exists "${name}".entry
      (n bigint generated always as identity, line text, generation bigint, cents int)`);
  return {
    destination: guard,
    credit: (lease, cents) =>
      guard.write(lease, { step: "credit", request: { cents } }, async (tx) => {
        await tx.query(`insert into "${name}".entry (line, generation, cents) values ($1, $2, $3)`, [
          lease.token.line,
          lease.token.generation,
          cents,
        ]);
        return { cents };
      }),
    entries: async () =>
      (await query(`select line, generation::float8, cents from "${name}".entry order by n`)).rows,
    remove: () => query(`drop schema "${name}" cascade`),
    close: () => end.end(),
  };
}
