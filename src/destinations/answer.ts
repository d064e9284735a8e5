/** An effect's first answer, as it is kept and given back: JSON text, byte for byte (D4). */

import { storableJson } from "../protocol/storable.ts";
import type { EffectKey } from "./effect.ts";
import { EffectMismatchError } from "./refusals.ts";

/** Longer answers belong beside the effect, with a reference as the answer. */
const MAX_ANSWER_BYTES = 1_048_576;

/** @throws {UnstorableValueError} when it would not survive as JSON; the effect is then to be rolled back */
export function answerText(answer: unknown): string {
  return storableJson(answer, "answer", MAX_ANSWER_BYTES);
}

/** What is kept of a step that its maker gave no answer for. */
export const NO_ANSWER = "null";

/** What is kept under a key. */
export interface KeptAnswer {
  readonly request: string | null;
  readonly answer: string;
}

/** @throws {EffectMismatchError} when it was kept for another request */
export function replayed<Answer>(kept: KeptAnswer, { key, request }: EffectKey): Answer {
  if (kept.request !== request) throw new EffectMismatchError(key);
  return fromText(kept.answer);
}

/** The first answer goes through its text as well, so that no repeat differs from it. */
export function fromText<Answer>(text: string): Answer {
  return JSON.parse(text) as Answer;
}
