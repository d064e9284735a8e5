/** I7, I8, I9 and I23: what destinations admitted. The blind one is only counted. */

import type { FencingToken } from "../../../../src/protocol/identity.ts";
import {
  type Decision,
  i7FenceMonotone,
  i8AppliedOnce,
  i9NoForeignToken,
  i23EndIsTheEnd,
} from "../../../../src/protocol/invariants.ts";
import { isEnded } from "../../../../src/protocol/job.ts";
import type { DestinationEntry } from "../record.ts";
import { type Evidence, groupBy } from "./evidence.ts";
import { grantsOf } from "./transitions-judged.ts";
import type { Broken } from "./verdict.ts";

export const BLIND = "blind";

/** In each destination's own order. Lines of probes are nobody's. */
export function fencedDecisions({ record }: Pick<Evidence, "record">): DestinationEntry[] {
  return record.decisions
    .filter(({ destination, line }) => destination !== BLIND && !line.startsWith("probe:"))
    .sort((one, other) => one.seq - other.seq);
}

function decisionOf({ line, generation, owner, decision }: DestinationEntry): Decision {
  return { token: { line, generation, owner } as FencingToken, admitted: decision !== "stale" };
}

function judgeGroups(
  groups: ReadonlyMap<string, readonly DestinationEntry[]>,
  judge: (entries: readonly DestinationEntry[]) => string | undefined,
): Broken[] {
  const broken: Broken[] = [];
  for (const entries of groups.values()) {
    const what = judge(entries);
    const { job, atMs } = entries.at(-1) as DestinationEntry;
    if (what !== undefined) broken.push({ what, job, ...(atMs === null ? {} : { atMs }) });
  }
  return broken;
}

/**
 * A duplicate raises the mark, but it may be logged a moment after it was answered, behind what a higher token has done
 * meanwhile: such a one says nothing about the order.
 */
function withoutBelated(entries: readonly DestinationEntry[]): DestinationEntry[] {
  let mark = 0;
  return entries.filter(({ decision, generation }) => {
    if (decision === "stale" || (decision === "duplicate" && generation < mark)) return false;
    mark = Math.max(mark, generation);
    return true;
  });
}

export function fenceMonotone(evidence: Evidence): Broken[] {
  const lines = groupBy(fencedDecisions(evidence), ({ destination, line }) => `${destination} ${line}`);
  return judgeGroups(lines, (entries) => i7FenceMonotone(withoutBelated(entries).map(decisionOf)));
}

export function appliedOnce(evidence: Evidence): Broken[] {
  const jobs = groupBy(fencedDecisions(evidence), ({ destination, job }) => `${destination} ${job}`);
  return judgeGroups(jobs, (entries) =>
    i8AppliedOnce(
      entries.map((entry) => ({ effect: entry.key, outcome: entry.decision, answer: entry.answer })),
    ),
  );
}

/** Whose token it was when it was granted: in the store's audit, or in what an old primary had beside it. */
export function noForeignToken(evidence: Evidence): Broken[] {
  const changes = [...evidence.changes, ...evidence.lost];
  const granted = grantsOf(changes).map(({ token }) => token);
  const revoked = new Set(
    changes
      .filter(({ operation }) => operation === "revoke")
      .map(({ job, after }) => `job:${job} ${after?.generation}`),
  );
  const asked = fencedDecisions(evidence).filter(
    ({ line, generation }) => !revoked.has(`${line} ${generation}`),
  );
  const known = groupBy(granted, ({ line }) => line as string);
  return judgeGroups(
    groupBy(asked, ({ line }) => line),
    (entries) => i9NoForeignToken(entries.map(decisionOf), known.get(entries[0]!.line) ?? []),
  );
}

/** A retry begins anew; so the last end counts, and only while no retry follows. */
export function endIsTheEnd(evidence: Evidence): Broken[] {
  const byLine = groupBy(fencedDecisions(evidence), ({ line }) => line);
  const broken: Broken[] = [];
  for (const [job, { state, generation }] of evidence.finals) {
    if (!isEnded({ state })) continue;
    const line = `job:${job}` as FencingToken["line"];
    const what = i23EndIsTheEnd({ line, generation }, (byLine.get(line) ?? []).map(decisionOf));
    if (what !== undefined) broken.push({ what, job });
  }
  return broken;
}
