/** I1 to I6, I15: what the audit alone tells, each job for itself. */

import type { FencingToken, Owner } from "../../../../src/protocol/identity.ts";
import {
  brokenBy,
  i1TokenUnique,
  i5EndsOnce,
  i15AttemptsBounded,
  i19NoStartAfterCancel,
} from "../../../../src/protocol/invariants.ts";
import { type JobRecord, tokenOf } from "../../../../src/protocol/job.ts";
import { type Evidence, groupBy } from "./evidence.ts";
import type { Change } from "./transitions.ts";
import type { Broken, Invariant } from "./verdict.ts";

/**
 * The tokens that were granted. SQLite writes the resource's generation into a claimed row by a second statement of the same
 * transaction, and until then the row has the one of an earlier run: the token is granted when it changes.
 */
export function grantsOf(
  changes: readonly Change[],
): { readonly token: FencingToken; readonly change: Change }[] {
  return changes.flatMap((change) => {
    const { operation, before, after } = change;
    if (after?.owner == null) return [];
    const isGrant =
      after.resource === null
        ? operation === "claim"
        : after.resourceGeneration !== null &&
          (after.resourceGeneration !== before?.resourceGeneration || after.owner !== before?.owner);
    return isGrant ? [{ token: tokenOf(after as JobRecord & { readonly owner: Owner }), change }] : [];
  });
}

/** By invariant, what broke it. */
export function judgeTransitions({
  changes,
  lost,
  changesByJob,
  time,
  record,
}: Evidence): Map<Invariant, Broken[]> {
  const found = new Map<Invariant, Broken[]>();
  const say = (what: string | undefined, job: string, seq?: number): void => {
    if (what === undefined) return;
    const invariant = what.slice(0, what.indexOf(":")) as Invariant;
    const list = found.get(invariant);
    const broken = { what, job, ...(seq === undefined ? {} : { seq }) };
    if (list === undefined) found.set(invariant, [broken]);
    else list.push(broken);
  };
  // An old primary keeps the rules as well: what it did is judged by its own history.
  for (const change of [...lost, ...changes]) {
    const broken = brokenBy(change);
    // The row is written down by the clock as it is then, and was changed by the clock as its transaction found it.
    const others = broken.length > 0 && record.store.startsWith("sqlite") ? time.othersOf(change.nowMs) : [];
    if (others.some((nowMs) => brokenBy({ ...change, nowMs }).length === 0)) continue;
    for (const what of broken) say(what, change.job, change.seq);
  }
  // A token that was lost with its grant may be somebody's still: it is never given again.
  const lines = groupBy(grantsOf([...lost, ...changes]), ({ token }) => token.line);
  for (const grants of lines.values()) {
    const { job, seq } = grants.at(-1)!.change;
    say(i1TokenUnique(grants.map(({ token }) => token)), job, seq);
  }
  for (const [job, own] of changesByJob) {
    const seq = own.at(-1)?.seq;
    say(i5EndsOnce(own), job, seq);
    say(i15AttemptsBounded(own), job, seq);
    say(i19NoStartAfterCancel(own), job, seq);
  }
  return found;
}
