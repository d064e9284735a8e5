/**
 * D6: a destination refuses the run's token although the store may still call the run current. Then the store has lost
 * history, and what it gives out next would be refused as well, until it has heard of the mark (C19).
 */

import type { Log } from "../client/log.ts";
import { type FencingToken, type Generation, generation } from "../protocol/identity.ts";
import { memberOf } from "./stored-error.ts";

/** How far a refusal is looked for behind the errors that handlers wrap around it. */
const MAX_CAUSES = 5;

/**
 * The mark by which a destination refused this very token, when that is what was thrown or its cause. Known by its code
 * and not by its class, since another copy of the package may have made it.
 */
export function refusedMark(thrown: unknown, token: FencingToken): Generation | undefined {
  let error = thrown;
  for (let depth = 0; depth <= MAX_CAUSES && error !== undefined; depth++) {
    if (memberOf(error, "code") === "LH_STALE_TOKEN") return markFor(error, token);
    error = memberOf(error, "cause");
  }
  return undefined;
}

/** A token of another line, or of an earlier run, tells nothing of this one; and no mark refuses what lies above it. */
function markFor(error: unknown, token: FencingToken): Generation | undefined {
  const refused = memberOf(error, "token");
  const isOurs =
    memberOf(refused, "line") === token.line &&
    memberOf(refused, "generation") === token.generation &&
    memberOf(refused, "owner") === token.owner;
  const mark = memberOf(memberOf(error, "mark"), "generation");
  return isOurs && Number.isSafeInteger(mark) && Number(mark) >= token.generation
    ? generation(Number(mark))
    : undefined;
}

export function tellHealed(log: Log, what: string, token: FencingToken, mark: Generation): void {
  const message =
    `${what}: the store has lost history. It calls generation ${token.generation} of ${token.line} current, which a ` +
    `destination has refused because of ${mark}; the next one lies above that.`;
  log({ level: "warning", kind: "healed", message });
}

export function tellTooHigh(log: Log, what: string, token: FencingToken, mark: Generation): void {
  const message =
    `${what}: a destination has refused generation ${token.generation} of ${token.line} because of ${mark}, which is ` +
    "of a later epoch than the store's. If the store was restored from a copy, run `leasehold raise-floor`; if another " +
    "one has taken its place, lead this worker there.";
  log({ level: "error", kind: "mark_too_high", message });
}
