/** The guard's half of a transaction that the caller has opened and commits itself. */

import { InvalidTransactionError } from "../../errors.ts";
import type { FencingToken } from "../../protocol/identity.ts";
import { notOpen, type Run } from "../../transactions/postgres.ts";
import { answerText, fromText, type KeptAnswer, NO_ANSWER, replayed } from "../answer.ts";
import type { AdmittedStep } from "../destination.ts";
import type { EffectKey } from "../effect.ts";
import { refused } from "./refused.ts";

export class CallersTransaction {
  readonly #run: Run;
  readonly #statement: (name: string) => string;
  #id = "";

  constructor(run: Run, statement: (name: string) => string) {
    this.#run = run;
    this.#statement = statement;
  }

  /** @throws {InvalidTransactionError} two statements do not land in one transaction */
  async admit(token: FencingToken): Promise<void> {
    const params = [token.line, String(token.generation), token.owner];
    const [first] = await this.#run(this.#statement("admit in"), params).catch((error: unknown) => {
      throw refused(error, token);
    });
    this.#id = String(first?.["id"]);
    const [second] = await this.#run(this.#statement("is still the transaction"), [this.#id]);
    if (second?.["same"] !== true) throw notOpen();
  }

  /**
   * The key is taken before its effect is made, with no answer. To write it only with the answer would leave a caller
   * who forgets that without any record, and two lines that make one effect at once would both make it.
   */
  async admitStep<Answer>(key: EffectKey): Promise<AdmittedStep<Answer, Promise<Answer>>> {
    for (;;) {
      const reserving = [key.key, key.request, NO_ANSWER];
      const [reserved] = await this.#run(this.#statement("reserve key"), reserving);
      if (reserved !== undefined) return { isFresh: true, keep: (answer) => this.#keep(key, answer) };
      const [kept] = await this.#run(this.#statement("answer"), [key.key]);
      // None: it was pruned between the two.
      if (kept !== undefined)
        return { isFresh: false, answer: replayed<Answer>(kept as unknown as KeptAnswer, key) };
    }
  }

  async #keep<Answer>({ key }: EffectKey, answer: Answer): Promise<Answer> {
    const text = answerText(answer);
    const [kept] = await this.#run(this.#statement("replace answer"), [key, text, this.#id]);
    if (kept === undefined) {
      throw new InvalidTransactionError("The transaction that admitted the step is over.", {
        next: "Call keep() before you commit. Repeats are answered with null, if it was committed.",
      });
    }
    return fromText<Answer>(text);
  }
}
