/** `{ tx }` on PostgreSQL: whatever can run a statement in a transaction that is open on the store's database. */

import { InvalidTransactionError } from "../../errors.ts";
import { executorOf, notOpen, type Run } from "../../transactions/postgres.ts";
import type { Sql, Texts } from "./statements.ts";

/** The caller's transaction, and its id, by which its end can be seen from outside. */
export interface CallersTransaction extends Sql {
  readonly id: string;
}

/**
 * The store's statements in the caller's transaction. All of them take texts and give back texts, numbers and booleans, so
 * that the client need not be `pg`.
 *
 * @throws {InvalidTransactionError} when it is not an open transaction on this store's database
 */
export async function callersTransaction(tx: unknown, texts: Texts): Promise<CallersTransaction> {
  const sql = on(executorOf(tx), texts);
  const [first] = await sql.rows<{ id: string; known: boolean }>("callers transaction").catch(unusable);
  if (first?.known !== true) {
    throw new InvalidTransactionError("tx is open on a database that does not hold this store.", {
      next: "Keep the application's tables and the jobs in one database to write them in one transaction.",
    });
  }
  const [second] = await sql.rows<{ same: boolean }>("is still the transaction", [first.id]).catch(unusable);
  if (second?.same !== true) throw notOpen();
  return { ...sql, id: first.id };
}

function unusable(cause: unknown): never {
  if (cause instanceof InvalidTransactionError) throw cause;
  throw new InvalidTransactionError("tx cannot be used.", {
    next: "Pass the client of an open transaction that has not failed.",
    cause,
  });
}

function on(run: Run, texts: Texts): Sql {
  return {
    async rows<R>(name: string, parameters: readonly unknown[] = []): Promise<R[]> {
      const values = parameters.map((value) =>
        value === undefined || value === null ? null : String(value),
      );
      return (await run(texts.get(name, parameters), values)) as R[];
    },
  };
}
