/** What a store may not have done in a round: the protocol's invariants, as far as one job shows them. */

import type { JobRecord } from "../../protocol/job.ts";
import type { JournalEntry } from "../../protocol/journal.ts";
import { resultOf } from "./owner.ts";
import type { Round } from "./round.ts";

export function storeFaults(
  round: Round,
  job: JobRecord | undefined,
  journal: readonly JournalEntry[],
): readonly string[] {
  const { generations, reclaimedAfterMs, late, repeatedCompletion } = round;
  const [first = 0, second] = generations;
  const last = second ?? first;
  const found = [...round.storeFaults];
  if (second !== undefined && second <= first)
    found.push(`generation ${second} was given out after ${first}: it must be higher (C3)`);
  if (reclaimedAfterMs !== null && reclaimedAfterMs < 0)
    found.push(`the job was taken over ${-reclaimedAfterMs} ms before its lease had ended`);
  for (const [operation, answer] of [
    ["renewal", late?.renewal],
    ["completion", late?.completion],
  ] as const) {
    if (answer !== undefined && !isRefused(answer))
      found.push(`a late ${operation} with generation ${first} was not refused: it was ${answer.outcome}`);
  }
  if (repeatedCompletion !== null && repeatedCompletion !== "already")
    found.push(`a completion that was sent again was not answered "already": ${repeatedCompletion}`);
  if (job?.state !== "completed")
    found.push(`the job did not end as completed: it is ${job?.state ?? "gone"}`);
  else if (job.result !== JSON.stringify(resultOf(last)))
    found.push(`the job's result is ${job.result}, which generation ${last} has not returned`);
  const ends = journal.filter(({ kind }) => kind === "completed").length;
  if (job !== undefined && ends > 1) found.push(`the job ended ${ends} times`);
  return found;
}

export function isRefused({ outcome }: { readonly outcome: string }): boolean {
  return outcome === "stale" || outcome === "gone";
}
