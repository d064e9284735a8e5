/** Which statement of the store's it is: on its way through a proxy, or as the server tells of it. */

import { loadStatements } from "../../src/stores/postgres/sql.ts";
import type { BackendMatch } from "./postgres-backends.ts";
import type { StatementMatch } from "./postgres-session.ts";

/** `pg_stat_activity` cuts texts after 1,024 bytes. */
const SHOWN_LETTERS = 500;

/** The store's statements of these names (those of `sql/*.sql`). */
export function statement(schema: string, ...names: readonly string[]): StatementMatch {
  const texts = textsOf(schema, names);
  return ({ text }) => texts.has(text);
}

/** The COMMIT of a transaction in which one of these statements has run. */
export function commitOf(schema: string, ...names: readonly string[]): StatementMatch {
  const texts = textsOf(schema, names);
  return ({ text, transaction }) => text === "commit" && transaction.some((earlier) => texts.has(earlier));
}

/** A connection that runs one of these statements at this moment. */
export function running(schema: string, ...names: readonly string[]): BackendMatch {
  const beginnings = [...textsOf(schema, names)].map((text) => text.slice(0, SHOWN_LETTERS));
  return ({ state, query }) =>
    state === "active" && beginnings.some((beginning) => query.startsWith(beginning));
}

function textsOf(schema: string, names: readonly string[]): ReadonlySet<string> {
  const statements = loadStatements(schema);
  return new Set(
    names.map((name) => {
      const text = statements.get(name);
      if (text === undefined) throw new Error(`There is no statement named "${name}"`);
      return text;
    }),
  );
}
