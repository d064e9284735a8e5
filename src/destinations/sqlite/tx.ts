import { InvalidTransactionError } from "../../errors.ts";
import type { GuardDatabase } from "./database.ts";

/** The body's view of the transaction; of no use once the body is over. */
export interface GuardTx {
  /** `$1`, `$2` … stand for `params`. Inside the body the handle itself may be used as well: it is the same transaction. */
  query<Row = Record<string, unknown>>(text: string, params?: readonly unknown[]): Promise<{ rows: Row[] }>;
}

export class OpenTx implements GuardTx {
  readonly #database: GuardDatabase;
  isOpen = true;

  constructor(database: GuardDatabase) {
    this.#database = database;
  }

  async query<Row>(text: string, params: readonly unknown[] = []): Promise<{ rows: Row[] }> {
    if (!this.isOpen) {
      throw new InvalidTransactionError("This transaction is over.", {
        next: "Use tx only inside the body.",
      });
    }
    return { rows: this.#database.prepare(text).all(numbered(params)) as Row[] };
  }
}

/** `$1` is a named parameter to SQLite. */
function numbered(params: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(params.map((value, index) => [`$${index + 1}`, storable(value)]));
}

function storable(value: unknown): unknown {
  if (typeof value === "boolean") return value ? 1 : 0;
  return value === undefined ? null : value;
}
