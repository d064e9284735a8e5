import type { PgClient, PgQuery } from "./driver.ts";
import type { Prepared } from "./prepared.ts";

export type Row = Record<string, unknown>;

/** Sees each statement's name and parameters before it runs: for diagnosis, and to show that no worker's time is among them. */
export type Trace = (statement: string, parameters: readonly unknown[]) => void;

/** Runs named statements of `sql/*.sql`: in a transaction, or each in one of its own. */
export interface Sql {
  rows<R = Row>(name: string, parameters?: readonly unknown[]): Promise<R[]>;
}

/** On one of our own connections. */
export interface OwnSql extends Sql {
  /** Rows as arrays, in the order of the statement's columns: for the ones that come by hundreds. */
  tuples(name: string, parameters: readonly unknown[]): Promise<unknown[][]>;
}

/** The texts of `sql/*.sql`, and whoever watches them being run. */
export class Texts {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #trace: Trace | undefined;

  constructor(texts: ReadonlyMap<string, string>, trace: Trace | undefined) {
    this.#texts = texts;
    this.#trace = trace;
  }

  get(name: string, parameters: readonly unknown[]): string {
    this.#trace?.(name, parameters);
    const text = this.#texts.get(name);
    if (text === undefined) throw new Error(`There is no statement named ${JSON.stringify(name)}`);
    return text;
  }
}

/** On one of our own connections; prepared where that is safe. */
export function statementsOn(client: PgClient, texts: Texts, prepared: Prepared): OwnSql {
  const query = (name: string, parameters: readonly unknown[]): PgQuery => {
    const text = texts.get(name, parameters);
    const preparedAs = prepared.nameOn(client, text);
    const unnamed = { text, values: [...parameters], types: TYPES };
    return preparedAs === undefined ? unnamed : { ...unnamed, name: preparedAs };
  };
  return {
    async rows<R>(name: string, parameters: readonly unknown[] = []): Promise<R[]> {
      return (await client.query(query(name, parameters))).rows as R[];
    },
    async tuples(name, parameters) {
      return (await client.query({ ...query(name, parameters), rowMode: "array" })).rows as unknown[][];
    },
  };
}

/** What users have taught `pg` about types is for their own queries. */
const TYPES = {
  getTypeParser: (oid: number): ((text: string) => unknown) => PARSERS.get(oid) ?? asText,
};

const asText = (text: string): string => text;
const PARSERS = new Map<number, (text: string) => unknown>([
  [16, (text) => text === "t"],
  [20, Number], // bigint: times, and generations below 2^53
  [21, Number],
  [23, Number],
  [114, (text) => JSON.parse(text)],
]);
