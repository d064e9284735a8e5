/** An effect's key (D4) and the fingerprint of its request, checked before anything is sent. */

import { createHash } from "node:crypto";
import { InvalidArgumentError } from "../errors.ts";
import type { EffectLease, EffectOptions } from "./destination.ts";

const LONGEST_STEP = 200;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;

/** What is stored of an effect beside its answer. */
export interface EffectKey {
  /** `<scope>/<step>`, without the generation: it is the same whoever makes the effect. */
  readonly key: string;
  /** SHA-256 of the request's JSON, hex; null when none was given. */
  readonly request: string | null;
}

/**
 * @returns undefined for an effect without a step: it is fenced and not deduplicated
 * @throws {InvalidArgumentError} a step that cannot be a key, or a lease without a scope
 */
export function effectKey(lease: EffectLease, { step, request }: EffectOptions): EffectKey | undefined {
  if (step === undefined) return undefined;
  if (!isStep(step)) notAStep(step);
  if (lease.effectScope === null) {
    throw new InvalidArgumentError(
      "step",
      step,
      "no step: a named lease without a job has no run, so a repeat cannot be told from a new effect",
    );
  }
  return { key: `${lease.effectScope}/${step}`, request: request === undefined ? null : digest(request) };
}

/** The same where a step has to be given. */
export function stepKey(lease: EffectLease, effect: EffectOptions): EffectKey {
  return effectKey(lease, effect) ?? notAStep(effect.step);
}

function notAStep(step: unknown): never {
  throw new InvalidArgumentError("step", step, "a name of 1 to 200 characters without control characters");
}

/** Half a surrogate pair would become another letter on its way, and two steps one key. */
function isStep(step: unknown): boolean {
  if (typeof step !== "string" || step.length === 0 || step.length > LONGEST_STEP) return false;
  return !CONTROL.test(step) && step.isWellFormed();
}

/** Of the canonical JSON: members in the order of their names. */
export function digest(request: unknown): string {
  return createHash("sha256").update(canonical(request)).digest("hex");
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
