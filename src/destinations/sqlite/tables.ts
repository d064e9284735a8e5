import { SchemaVersionError } from "../../errors.ts";
import { admit, type Mark } from "../../protocol/destination-rule.ts";
import type { FencingToken, Line } from "../../protocol/identity.ts";
import type { KeptAnswer } from "../answer.ts";
import type { EffectKey } from "../effect.ts";
import { isPruned } from "../pruned.ts";
import { PrunedLineError, StaleTokenError } from "../refusals.ts";
import { loadStatements, loadText } from "../statements.ts";
import type { GuardDatabase, GuardStatement } from "./database.ts";

const SCHEMA_VERSION = 1;
const TEXTS = loadStatements(new URL("./sql/guard.sql", import.meta.url));

/** The guard's rows; to be used inside a transaction that holds the write lock. */
export class Tables {
  readonly #database: GuardDatabase;
  readonly #prepared = new Map<string, GuardStatement>();

  constructor(database: GuardDatabase) {
    this.#database = database;
  }

  /** All of it in the caller's transaction: of several processes one makes the tables, and the others find them. */
  migrate(): void {
    if (this.#get("has tables") === undefined)
      this.#database.exec(loadText(new URL("./migrations/001-initial.sql", import.meta.url)));
    const version = Number(this.#get("guard")?.["schema_version"]);
    if (version > SCHEMA_VERSION) throw new SchemaVersionError(version, SCHEMA_VERSION, "The guard");
  }

  /**
   * D2, with the mark raised where the token is higher.
   *
   * @throws {StaleTokenError | PrunedLineError}
   */
  admit(token: FencingToken): void {
    const { line, generation, owner } = token;
    const mark = this.mark(line);
    if (mark === undefined && isPruned(line, String(this.#get("guard")?.["pruned_below"])))
      throw new PrunedLineError(line);
    const admission = admit(mark, token);
    if (!admission.admitted) throw new StaleTokenError(token, mark as Mark);
    if (admission.raises) this.#statement("raise mark").run(line, generation, owner);
  }

  mark(line: Line): Mark | undefined {
    return this.#get("mark", line) as Mark | undefined;
  }

  forget(line: Line): void {
    this.#statement("forget mark").run(line);
  }

  answer({ key }: EffectKey): KeptAnswer | undefined {
    return this.#get("answer", key) as KeptAnswer | undefined;
  }

  keep({ key, request }: EffectKey, answer: string): void {
    this.#statement("keep answer").run(key, request, answer);
  }

  /** @returns false when an effect was made under the key before */
  reserve({ key, request }: EffectKey, answer: string): boolean {
    return Number(this.#statement("reserve key").run(key, request, answer).changes) === 1;
  }

  /** @returns false when the key is not reserved: whoever did has rolled back */
  replace({ key }: EffectKey, answer: string): boolean {
    return Number(this.#statement("replace answer").run(answer, key).changes) === 1;
  }

  prune(below: string, limit: number): { marks: number; answers: number } {
    this.#statement("raise pruned below").run(below);
    const marks = Number(this.#statement("prune marks").run(limit).changes);
    const answers = Number(this.#statement("prune answers").run(limit).changes);
    return { marks, answers };
  }

  #get(name: string, ...parameters: unknown[]): Record<string, unknown> | undefined {
    return this.#statement(name).get(...parameters);
  }

  #statement(name: string): GuardStatement {
    let statement = this.#prepared.get(name);
    if (statement === undefined) {
      statement = this.#database.prepare(TEXTS(name));
      this.#prepared.set(name, statement);
    }
    return statement;
  }
}
