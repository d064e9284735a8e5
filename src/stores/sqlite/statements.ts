import type { Database, Statement } from "./driver.ts";
import { positional } from "./positional.ts";

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
    let prepared = this.#prepared.get(name);
    if (prepared === undefined) {
      const named = this.#texts.get(name);
      if (named === undefined) throw new Error(`There is no statement named ${JSON.stringify(name)}`);
      const { text, names } = positional(named);
      prepared = { statement: this.#database.prepare(text), names };
      this.#prepared.set(name, prepared);
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
