/** `{ tx }` on PostgreSQL: anything with `query(text, params)` that has a transaction open on the store's database. */

import { InvalidTransactionError } from "../../errors.ts";
import type { Row, Sql, Texts } from "./statements.ts";

interface Executor {
  query(text: string, params: unknown[]): Promise<{ rows: Row[] }>;
}

/**
 * The store's statements in the caller's transaction. All of them take texts and give back texts, numbers and booleans, so
 * that the client need not be `pg`.
 *
 * @throws {InvalidTransactionError} when it is not an open transaction on this store's database
 */
export async function callersStatements(tx: unknown, texts: Texts): Promise<Sql> {
  if (!isExecutor(tx)) {
    throw new InvalidTransactionError("tx has no query(text, params).", {
      next: "Pass your pg client, or wrap what you use so that it has query(text, params) and answers { rows }.",
    });
  }
  const sql = on(tx, texts);
  const [row] = await sql
    .rows<{ open: boolean; known: boolean }>("callers transaction")
    .catch((cause: unknown) => {
      throw new InvalidTransactionError("tx cannot be used.", {
        next: "Pass the client of an open transaction that has not failed.",
        cause,
      });
    });
  if (row?.open !== true) {
    throw new InvalidTransactionError("tx has no open transaction.", {
      next: "Send it BEGIN first, and commit it yourself.",
    });
  }
  if (!row.known) {
    throw new InvalidTransactionError("tx is open on a database that does not hold this store.", {
      next: "Keep the application's tables and the jobs in one database to write them in one transaction.",
    });
  }
  return sql;
}

function on(tx: Executor, texts: Texts): Sql {
  return {
    async rows<R>(name: string, parameters: readonly unknown[] = []): Promise<R[]> {
      const values = parameters.map((value) =>
        value === undefined || value === null ? null : String(value),
      );
      return (await tx.query(texts.get(name, parameters), values)).rows as R[];
    },
  };
}

function isExecutor(tx: unknown): tx is Executor {
  return typeof tx === "object" && tx !== null && typeof (tx as Partial<Executor>).query === "function";
}
