import type { World } from "../../clock/world.ts";
import { ClosedError, SchemaVersionError } from "../../errors.ts";
import type { Mark } from "../../protocol/destination-rule.ts";
import {
  type FencingToken,
  generation,
  type JobId,
  jobId,
  type Line,
  owner,
} from "../../protocol/identity.ts";
import { executorOf } from "../../transactions/postgres.ts";
import { answerText, fromText, type KeptAnswer, replayed } from "../answer.ts";
import { checkLease } from "../check-lease.ts";
import type { AdmittedStep, EffectLease, EffectOptions, ProbeResult, StepOptions } from "../destination.ts";
import { effectKey, stepKey } from "../effect.ts";
import { probe } from "../probe.ts";
import { DEFAULT_PRUNE_LIMIT, type Pruned } from "../pruned.ts";
import { loadStatements, loadText } from "../statements.ts";
import { CallersTransaction } from "./callers-transaction.ts";
import { serverError } from "./driver.ts";
import { filled } from "./filled.ts";
import type { PostgresGuard } from "./index.ts";
import { refused } from "./refused.ts";
import type { GuardTx, Opening, OpenTx, Transactions, Work } from "./transactions.ts";

const SCHEMA_VERSION = 1;
/** For the lock under which one process makes the tables and others wait: any number that nobody else has. */
const MIGRATION_LOCK = 5_128_907_215;

export class Guard implements PostgresGuard {
  readonly level = "fenced + deduplicated";
  readonly #transactions: Transactions;
  readonly #world: World;
  readonly #statement: (name: string) => string;
  readonly #schema: string;
  readonly #end: () => Promise<void>;
  #ready: Promise<void> | undefined;
  #isClosed = false;

  constructor(transactions: Transactions, world: World, schema: string, end: () => Promise<void>) {
    this.#transactions = transactions;
    this.#world = world;
    this.#schema = schema;
    this.#statement = loadStatements(new URL("./sql/guard.sql", import.meta.url), `"${schema}"`);
    this.#end = end;
  }

  async write<Answer>(
    lease: EffectLease,
    effect: EffectOptions,
    body: (tx: GuardTx) => Promise<Answer> | Answer,
  ): Promise<Answer> {
    const token = checkLease(lease);
    const key = effectKey(lease, effect);
    const operation = `write for ${token.line}`;
    const lookUp = key === undefined ? [] : [this.#filled("answer", [key.key])];
    for (;;) {
      const attempt = async (tx: OpenTx, opened: readonly unknown[]): Promise<Answer> => {
        if (key === undefined) return body(tx);
        const [kept] = opened as readonly KeptAnswer[];
        if (kept !== undefined) return replayed<Answer>(kept, key);
        const text = answerText(await body(tx));
        tx.atEnd.push(this.#filled("keep answer", [key.key, key.request, text]));
        return fromText<Answer>(text);
      };
      try {
        return await this.#runAdmitted(operation, lease, token, attempt, lookUp);
      } catch (error) {
        // The same key on another line: what is kept of it now is the answer.
        if (!this.#isMadeMeanwhile(error)) throw error;
      }
    }
  }

  admitIn(tx: unknown, lease: EffectLease): Promise<void>;
  admitIn<Answer>(
    tx: unknown,
    lease: EffectLease,
    effect: StepOptions,
  ): Promise<AdmittedStep<Answer, Promise<Answer>>>;
  async admitIn(tx: unknown, lease: EffectLease, effect?: StepOptions): Promise<unknown> {
    const theirs = new CallersTransaction(executorOf(tx), this.#statement);
    const token = checkLease(lease);
    const key = effect === undefined ? undefined : stepKey(lease, effect);
    await this.#whenReady();
    lease.assertTrusted?.(); // the first use makes the tables, which may take its time
    await theirs.admit(token);
    return key === undefined ? undefined : theirs.admitStep(key);
  }

  async advance(lease: EffectLease): Promise<void> {
    const token = checkLease(lease);
    await this.#runAdmitted(`advance of ${token.line}`, lease, token, async () => {});
  }

  async markOf(line: Line): Promise<Mark | undefined> {
    const [mark] = await this.#run("markOf", (tx) =>
      this.#rows<{ generation: string; owner: string }>(tx, "mark", [line]),
    );
    return mark && { generation: generation(Number(mark.generation)), owner: owner(mark.owner) };
  }

  probe(): Promise<ProbeResult> {
    const forget = (line: Line) => this.#run("probe", (tx) => this.#rows(tx, "forget mark", [line]));
    return probe(this, this.#world, forget);
  }

  async prune(below: JobId, limit: number = DEFAULT_PRUNE_LIMIT): Promise<Pruned> {
    const id = jobId(below);
    const remove = async (name: string): Promise<number> => {
      const rows = await this.#run("prune", (tx) => this.#rows<{ pruned: number }>(tx, name, [limit]));
      return rows[0]?.pruned ?? 0;
    };
    await this.#run("prune", (tx) => this.#rows(tx, "raise pruned below", [id]));
    const marks = await remove("prune marks");
    const answers = marks < limit ? await remove("prune answers") : 0;
    return { marks, answers, isDone: marks < limit && answers < limit };
  }

  /** Of ten processes that start at once one makes the tables, and the others find them. */
  async migrate(): Promise<void> {
    await this.#transactions.run("migrate", async (tx) => {
      await tx.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
      if ((await this.#version(tx)) !== undefined) return;
      const text = loadText(new URL("./migrations/001-initial.sql", import.meta.url), `"${this.#schema}"`);
      await tx.query(text);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#end();
  }

  /**
   * Admits the token in the message that opens the transaction. `lease` is asked once more behind the wait for a connection,
   * which may have outlasted it.
   */
  #runAdmitted<Result>(
    operation: string,
    lease: EffectLease,
    token: FencingToken,
    work: Work<Result>,
    lookUp: readonly string[] = [],
  ): Promise<Result> {
    const admit = this.#filled("admit", [token.line, token.generation, token.owner]);
    return this.#run(operation, work, {
      statements: () => {
        lease.assertTrusted?.();
        this.#world.reached("before-effect-send");
        return [admit, ...lookUp];
      },
      failed: (error) => refused(error, token),
    });
  }

  async #run<Result>(operation: string, work: Work<Result>, opening?: Opening): Promise<Result> {
    await this.#whenReady();
    const result = await this.#transactions.run(operation, work, opening);
    this.#world.reached("after-effect-reply");
    return result;
  }

  #whenReady(): Promise<void> {
    if (this.#isClosed) throw new ClosedError("The guard");
    this.#ready ??= this.#open().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /** Looked at first without a right to create anything. */
  async #open(): Promise<void> {
    const found = await this.#transactions.run("open", (tx) => this.#version(tx));
    if (found === undefined) await this.migrate();
  }

  /** Undefined where there are no tables. */
  async #version(tx: GuardTx): Promise<number | undefined> {
    // The catalogue's own table: to_regclass() answers from a cache that the wait for a lock does not bring up to date.
    const { rows } = await tx.query(
      "select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = 'guard'",
      [this.#schema],
    );
    if (rows.length === 0) return undefined;
    const [guard] = await this.#rows<{ schema_version: number }>(tx, "version", []);
    const version = Number(guard?.schema_version);
    if (version > SCHEMA_VERSION) throw new SchemaVersionError(version, SCHEMA_VERSION, "The guard");
    return version;
  }

  #isMadeMeanwhile(error: unknown): boolean {
    const { state, table, schema } = serverError(error) ?? {};
    return state === "23505" && table === "answer" && schema === this.#schema;
  }

  #filled(name: string, values: readonly (string | number | null)[]): string {
    return filled(this.#statement(name), values);
  }

  async #rows<Row>(tx: GuardTx, name: string, params: readonly unknown[]): Promise<Row[]> {
    return (await tx.query<Row>(this.#statement(name), params)).rows;
  }
}
