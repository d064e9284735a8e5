import { join } from "node:path";
import { sqliteGuard } from "../../destinations/sqlite/index.ts";
import { openDatabase } from "../../stores/sqlite/index.ts";
import type { Account, AccountPlace, Entry } from "./account.ts";

/** A table in a file of its own, which all who write open. */
export async function openSqlite({ folder }: AccountPlace): Promise<Account> {
  const database = await openDatabase(join(folder, "account.db"));
  database.exec("create table if not exists entry (line text, generation integer, cents integer)");
  const guard = sqliteGuard(database);
  return {
    destination: guard,
    credit: (lease, cents) =>
      guard.write(lease, { step: "credit", request: { cents } }, async (tx) => {
        await tx.query("insert into entry values ($1, $2, $3)", [
          lease.token.line,
          lease.token.generation,
          cents,
        ]);
        return { cents };
      }),
    entries: async () => database.prepare("select * from entry order by rowid").all() as unknown as Entry[],
    close: async () => database.close(),
  };
}
