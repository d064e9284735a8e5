/** An effect's key (D4) and the fingerprint of its request, checked before anything is sent. */

import { createHash } from "node:crypto";
import { InvalidArgumentError } from "../errors.ts";
import { checkStepName } from "../protocol/step.ts";
import type { EffectLease, EffectOptions } from "./destination.ts";

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
  checkStepName(step);
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
  const key = effectKey(lease, effect);
  if (key === undefined) checkStepName(effect.step);
  return key as EffectKey;
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
