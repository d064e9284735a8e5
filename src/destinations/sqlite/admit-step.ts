/** A step in the caller's own transaction: its key is taken before its effect is made. */

import { InvalidTransactionError } from "../../errors.ts";
import { answerText, fromText, type KeptAnswer, NO_ANSWER, replayed } from "../answer.ts";
import type { AdmittedStep } from "../destination.ts";
import type { EffectKey } from "../effect.ts";
import type { GuardDatabase } from "./database.ts";
import type { Tables } from "./tables.ts";

/**
 * To write the key only with the answer would leave a caller who forgets that without any record, and its next owner
 * with a second effect.
 */
export function admitStep<Answer>(
  database: GuardDatabase,
  tables: Tables,
  key: EffectKey,
): AdmittedStep<Answer, Answer> {
  if (!tables.reserve(key, NO_ANSWER)) {
    return { isFresh: false, answer: replayed<Answer>(tables.answer(key) as KeptAnswer, key) };
  }
  return {
    isFresh: true,
    keep(answer) {
      const text = answerText(answer);
      if (database.isTransaction === false || !tables.replace(key, text)) {
        throw new InvalidTransactionError("The transaction that admitted the step is over.", {
          next: "Call keep() before you commit. Repeats are answered with null, if it was committed.",
        });
      }
      return fromText<Answer>(text);
    },
  };
}
