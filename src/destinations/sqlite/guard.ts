import type { World } from "../../clock/world.ts";
import { InvalidTransactionError, TransactionBodyError } from "../../errors.ts";
import type { Mark } from "../../protocol/destination-rule.ts";
import { type JobId, jobId, type Line } from "../../protocol/identity.ts";
import { answerText, fromText, replayed } from "../answer.ts";
import { checkLease } from "../check-lease.ts";
import type { AdmittedStep, EffectLease, EffectOptions, ProbeResult, StepOptions } from "../destination.ts";
import { effectKey, stepKey } from "../effect.ts";
import { probe } from "../probe.ts";
import { DEFAULT_PRUNE_LIMIT, type Pruned } from "../pruned.ts";
import { admitStep } from "./admit-step.ts";
import type { GuardDatabase } from "./database.ts";
import type { SqliteGuard } from "./index.ts";
import { Tables } from "./tables.ts";
import { Turns } from "./turns.ts";
import type { GuardTx, OpenTx } from "./tx.ts";

export class Guard implements SqliteGuard {
  readonly level = "fenced + deduplicated";
  readonly #turns: Turns;
  readonly #tables: Tables;
  readonly #tablesOf = new WeakMap<GuardDatabase, Tables>();
  readonly #world: World;
  #isMigrated = false;

  constructor(database: GuardDatabase, world: World, timeoutMs: number) {
    this.#turns = new Turns(database, world, timeoutMs);
    this.#tables = new Tables(database);
    this.#world = world;
  }

  async write<Answer>(
    lease: EffectLease,
    effect: EffectOptions,
    body: (tx: GuardTx) => Promise<Answer> | Answer,
  ): Promise<Answer> {
    const token = checkLease(lease);
    const key = effectKey(lease, effect);
    return this.#run(`write for ${token.line}`, async (tx) => {
      this.#tables.admit(token);
      if (key === undefined) return body(tx);
      const kept = this.#tables.answer(key);
      if (kept !== undefined) return replayed<Answer>(kept, key);
      const answer = await body(tx);
      // It was rolled back meanwhile; what came now would land outside of any transaction.
      if (!tx.isOpen) throw new TransactionBodyError("a guarded write");
      const text = answerText(answer);
      this.#tables.keep(key, text);
      return fromText<Answer>(text);
    });
  }

  admitIn(database: GuardDatabase, lease: EffectLease): void;
  admitIn<Answer>(
    database: GuardDatabase,
    lease: EffectLease,
    effect: StepOptions,
  ): AdmittedStep<Answer, Answer>;
  admitIn<Answer>(
    database: GuardDatabase,
    lease: EffectLease,
    effect?: StepOptions,
  ): AdmittedStep<Answer, Answer> | undefined {
    const token = checkLease(lease);
    const key = effect === undefined ? undefined : stepKey(lease, effect);
    if (database.isTransaction === false) {
      throw new InvalidTransactionError("The handle has no open transaction.", {
        next: `Begin one with exec("begin immediate"), and commit it yourself.`,
      });
    }
    const tables = this.#tablesOf.get(database) ?? new Tables(database);
    this.#tablesOf.set(database, tables);
    if (!this.#isMigrated) tables.migrate();
    tables.admit(token);
    return key === undefined ? undefined : admitStep(database, tables, key);
  }

  async advance(lease: EffectLease): Promise<void> {
    const token = checkLease(lease);
    await this.#run(`advance of ${token.line}`, async () => this.#tables.admit(token));
  }

  markOf(line: Line): Promise<Mark | undefined> {
    return this.#run("markOf", async () => this.#tables.mark(line));
  }

  probe(): Promise<ProbeResult> {
    return probe(this, this.#world, (line) => this.#run("probe", async () => this.#tables.forget(line)));
  }

  async prune(below: JobId, limit: number = DEFAULT_PRUNE_LIMIT): Promise<Pruned> {
    const id = jobId(below);
    const { marks, answers } = await this.#run("prune", async () => this.#tables.prune(id, limit));
    return { marks, answers, isDone: marks < limit && answers < limit };
  }

  async migrate(): Promise<void> {
    await this.#run("migrate", async () => {});
  }

  async #run<Result>(operation: string, work: (tx: OpenTx) => Promise<Result>): Promise<Result> {
    this.#world.reached("before-effect-send");
    const result = await this.#turns.run(operation, async (tx) => {
      if (!this.#isMigrated) this.#tables.migrate();
      return work(tx);
    });
    this.#isMigrated = true; // not before the commit
    this.#world.reached("after-effect-reply");
    return result;
  }
}
