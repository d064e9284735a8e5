/** D2, the rule by which a destination admits or refuses a token. Every kit applies this and nothing else. */

import type { FencingToken, Generation, Owner } from "./identity.ts";

/** A destination's high-water mark for one line, kept in the same durable place as the data (D1). */
export interface Mark {
  readonly generation: Generation;
  readonly owner: Owner;
}

/** `raises` tells whether the mark must be written with the effect. */
export type Admission = { readonly admitted: true; readonly raises: boolean } | { readonly admitted: false };

/**
 * Admits a higher generation, or an equal one of the same owner. Two owners with one generation can exist after lost
 * writes, so an equal one of another owner is refused. A missing mark is created by the first token (D7; a destination
 * that prunes asks its `pruned_below` first).
 */
export function admit(mark: Mark | undefined, token: Pick<FencingToken, "generation" | "owner">): Admission {
  if (mark === undefined || token.generation > mark.generation) return { admitted: true, raises: true };
  if (token.generation === mark.generation && token.owner === mark.owner)
    return { admitted: true, raises: false };
  return { admitted: false };
}
