import type { Database, Statement } from "./driver.ts";
import { ofRows, type Positional, positional } from "./positional.ts";

export type Parameters = Record<string, unknown>;
export type Row = Record<string, unknown>;

/** Sees each statement's name and parameters before it runs: for diagnosis, and to show that no worker's time is among them. */
export type Trace = (statement: string, parameters: Parameters) => void;

interface Prepared {
  readonly statement: Statement;
  readonly names: readonly string[];
}

/** The named statements of `sql/*.sql` on one handle, prepared when first used. */
export class Statements {
  readonly #database: Database;
  readonly #texts: ReadonlyMap<string, string>;
  readonly #trace: Trace | undefined;
  readonly #prepared = new Map<string, Prepared>();

  constructor(database: Database, texts: ReadonlyMap<string, string>, trace?: Trace) {
    this.#database = database;
    this.#texts = texts;
    this.#trace = trace;
  }

  /** How many rows were written. */
  run(name: string, parameters: Parameters = {}): number {
    const { statement, names } = this.#named(name, parameters);
    return Number(statement.run(...valuesOf(name, names, parameters)).changes);
  }

  /** The same by a named insert of one row for several that differ in `each` alone. */
  runRows(
    name: string,
    shared: Parameters,
    each: readonly string[],
    rows: readonly (readonly unknown[])[],
  ): number {
    const times = rows.length;
    this.#trace?.(name, { ...shared, rows });
    const { statement, names } = this.#preparedAs(`${name} ${times}`, name, (text) =>
      ofRows(text, each, times),
    );
    return Number(statement.run(...valuesOf(name, names, shared), ...rows.flat()).changes);
  }

  get<R = Row>(name: string, parameters: Parameters = {}): R | undefined {
    const { statement, names } = this.#named(name, parameters);
    return statement.get(...valuesOf(name, names, parameters)) as R | undefined;
  }

  all<R = Row>(name: string, parameters: Parameters = {}): R[] {
    const { statement, names } = this.#named(name, parameters);
    return statement.all(...valuesOf(name, names, parameters)) as R[];
  }

  /** For savepoints, migrations and the caller's own statements. */
  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** Runs the caller's own statement inside our transaction. */
  query(text: string, parameters: Parameters): Row[] {
    return this.#database.prepare(text).all(parameters);
  }

  #named(name: string, parameters: Parameters): Prepared {
    this.#trace?.(name, parameters);
    return this.#preparedAs(name, name, positional);
  }

  #preparedAs(key: string, name: string, change: (text: string) => Positional): Prepared {
    let prepared = this.#prepared.get(key);
    if (prepared === undefined) {
      const named = this.#texts.get(name);
      if (named === undefined) throw new Error(`There is no statement named ${JSON.stringify(name)}`);
      const { text, names } = change(named);
      prepared = { statement: this.#database.prepare(text), names };
      this.#prepared.set(key, prepared);
    }
    return prepared;
  }
}

/** One that is missing would be bound as null, and one too many be lost. */
function valuesOf(statement: string, names: readonly string[], parameters: Parameters): unknown[] {
  const values: unknown[] = new Array(names.length);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    const value = parameters[name];
    if (value === undefined) throw new Error(`${statement} was given no ${name}`);
    values[i] = value;
  }
  return values;
}
