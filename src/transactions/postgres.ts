/**
 * How one of our statements runs in the caller's transaction, whatever library has opened it; for the store's `{ tx }`
 * and for what guards a destination. They are told apart by the methods that they have,
 * so nothing of theirs is imported, and what comes of it is checked by the first two statements. The alternative was a
 * wrapper for each in the docs: the same lines in every application, with the same traps (comments with placeholders for
 * Knex, plugins that rename columns, updates that TypeORM answers in another shape).
 */

import { InvalidTransactionError } from "../errors.ts";

type Row = Record<string, unknown>;

export type Run = (text: string, params: readonly (string | null)[]) => Promise<readonly Row[]>;

interface Library {
  fits(tx: Methods): boolean;
  run(tx: Methods, text: string, params: readonly (string | null)[]): Promise<unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: what they really are, only they know
type Methods = Record<string, any>;

/** In the order in which they are asked. */
const LIBRARIES: readonly Library[] = [
  {
    // TypeORM's EntityManager and QueryRunner. Without `true`, rows come in one shape for `select`, in another for `update`.
    fits: (tx) => has(tx, "createQueryBuilder") || typeof tx["isTransactionActive"] === "boolean",
    async run(tx, text, params) {
      const runner = has(tx, "createQueryBuilder") ? tx["queryRunner"] : tx;
      if (runner === undefined) throw notOpen();
      return (await runner.query(text, params, true)).records;
    },
  },
  {
    // `pg`, the `tx` of `job.complete`, and whatever somebody has wrapped.
    fits: (tx) => has(tx, "query"),
    async run(tx, text, params) {
      return (await tx["query"](text, [...params]))?.rows;
    },
  },
  {
    // Kysely, without the plugins that are for the caller's own tables.
    fits: (tx) => has(tx, "executeQuery", "withoutPlugins"),
    async run(tx, text, params) {
      const query = { kind: "RawNode", sqlFragments: [text], parameters: [] };
      const compiled = { sql: text, parameters: params, query, queryId: { queryId: "leasehold" } };
      return (await tx["withoutPlugins"]().executeQuery(compiled)).rows;
    },
  },
  {
    // postgres.js
    fits: (tx) => has(tx, "unsafe"),
    run: (tx, text, params) => tx["unsafe"](text, [...params]),
  },
  {
    // Knex, which counts a `?` for each binding.
    fits: (tx) => typeof tx === "function" && has(tx, "raw"),
    async run(tx, text, params) {
      const bindings: (string | null)[] = [];
      const sql = withoutComments(text)
        .replaceAll("?", "\\?")
        .replace(/\$(\d+)/g, (_, n: string) => {
          bindings.push(params[Number(n) - 1] ?? null);
          return "?";
        });
      return (await tx["raw"](sql, bindings)).rows;
    },
  },
  {
    // Drizzle. `execute` takes whatever has `getSQL()`, and asks that for its text.
    fits: (tx) => has(tx, "execute", "select", "insert"),
    async run(tx, text, params) {
      const sql = { toQuery: () => ({ sql: text, params: [...params] }) };
      const answer = await tx["execute"]({ getSQL: () => sql });
      return Array.isArray(answer) ? answer : answer.rows; // postgres.js beneath it, or pg
    },
  },
];

/** @throws {InvalidTransactionError} when it is nothing that we know how to ask */
export function executorOf(tx: unknown): Run {
  const library = isObject(tx) ? LIBRARIES.find(({ fits }) => fits(tx)) : undefined;
  if (library === undefined) {
    throw new InvalidTransactionError(
      "tx is no transaction of a library that is known, and has no query().",
      {
        next: "Wrap what you use in { query }: query(text, params) resolves to { rows }, and $1, $2 … stand for params.",
      },
    );
  }
  return async (text, params) => {
    const rows: unknown = await library.run(tx as Methods, text, params);
    if (!Array.isArray(rows)) {
      throw new InvalidTransactionError("tx.query(text, params) does not resolve to { rows }.", {
        next: "Pass a transaction, not what transactions are made from; or wrap it so that it answers { rows }.",
      });
    }
    return rows.map(inOurSpelling);
  };
}

export function notOpen(): InvalidTransactionError {
  return new InvalidTransactionError("tx has no open transaction.", {
    next: "Pass what your library hands to the transaction's body, or send BEGIN first; you commit it yourself.",
  });
}

/** Callers may have told their client to give every column's name in camel case. */
function inOurSpelling(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}

/** Ours stand in lines of their own. */
function withoutComments(text: string): string {
  return text.replace(/^\s*--.*$/gm, "");
}

function isObject(value: unknown): value is Methods {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function has(tx: Methods, ...methods: readonly string[]): boolean {
  return methods.every((method) => typeof tx[method] === "function");
}
