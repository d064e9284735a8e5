import type { Database, Statement } from "./driver.ts";

export type Parameters = Record<string, unknown>;
export type Row = Record<string, unknown>;

/** Sees each statement's name and parameters before it runs: for diagnosis, and to show that no worker's time is among them. */
export type Trace = (statement: string, parameters: Parameters) => void;

/** The named statements of `sql/*.sql` on one handle, prepared when first used. */
export class Statements {
  readonly #database: Database;
  readonly #texts: ReadonlyMap<string, string>;
  readonly #trace: Trace | undefined;
  readonly #prepared = new Map<string, Statement>();

  constructor(database: Database, texts: ReadonlyMap<string, string>, trace?: Trace) {
    this.#database = database;
    this.#texts = texts;
    this.#trace = trace;
  }

  /** How many rows were written. */
  run(name: string, parameters: Parameters = {}): number {
    return Number(this.#named(name, parameters).run(parameters).changes);
  }

  get<R = Row>(name: string, parameters: Parameters = {}): R | undefined {
    return this.#named(name, parameters).get(parameters) as R | undefined;
  }

  all<R = Row>(name: string, parameters: Parameters = {}): R[] {
    return this.#named(name, parameters).all(parameters) as R[];
  }

  /** For savepoints, migrations and the caller's own statements. */
  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** Runs the caller's own statement inside our transaction. */
  query(text: string, parameters: Parameters): Row[] {
    return this.#database.prepare(text).all(parameters);
  }

  #named(name: string, parameters: Parameters): Statement {
    this.#trace?.(name, parameters);
    let statement = this.#prepared.get(name);
    if (statement === undefined) {
      const text = this.#texts.get(name);
      if (text === undefined) throw new Error(`There is no statement named ${JSON.stringify(name)}`);
      statement = this.#database.prepare(text);
      this.#prepared.set(name, statement);
    }
    return statement;
  }
}
