/** I1 to I6, I15: what the audit alone tells, each job for itself. */

import type { Owner } from "../../../../src/protocol/identity.ts";
import {
  brokenBy,
  i1TokenUnique,
  i5EndsOnce,
  i15AttemptsBounded,
  i19NoStartAfterCancel,
} from "../../../../src/protocol/invariants.ts";
import { type JobRecord, tokenOf } from "../../../../src/protocol/job.ts";
import type { Evidence } from "./evidence.ts";
import type { Change } from "./transitions.ts";
import type { Broken, Invariant } from "./verdict.ts";

export function tokensOf(changes: readonly Change[]): ReturnType<typeof tokenOf>[] {
  return changes
    .filter(({ operation, after }) => operation === "claim" && after?.owner != null)
    .map(({ after }) => tokenOf(after as JobRecord & { readonly owner: Owner }));
}

/** By invariant, what broke it. */
export function judgeTransitions({ changes, lost, changesByJob }: Evidence): Map<Invariant, Broken[]> {
  const found = new Map<Invariant, Broken[]>();
  const say = (what: string | undefined, job: string, seq?: number): void => {
    if (what === undefined) return;
    const invariant = what.slice(0, what.indexOf(":")) as Invariant;
    const list = found.get(invariant);
    const broken = { what, job, ...(seq === undefined ? {} : { seq }) };
    if (list === undefined) found.set(invariant, [broken]);
    else list.push(broken);
  };
  for (const change of changes) {
    for (const what of brokenBy(change)) say(what, change.job, change.seq);
  }
  // A token that was lost with its grant may be somebody's still: it is never given again.
  const lostByJob = new Map<string, Change[]>();
  for (const change of lost) lostByJob.set(change.job, [...(lostByJob.get(change.job) ?? []), change]);
  for (const [job, own] of changesByJob) {
    const seq = own.at(-1)?.seq;
    say(i1TokenUnique(tokensOf([...(lostByJob.get(job) ?? []), ...own])), job, seq);
    say(i5EndsOnce(own), job, seq);
    say(i15AttemptsBounded(own), job, seq);
    say(i19NoStartAfterCancel(own), job, seq);
  }
  return found;
}
