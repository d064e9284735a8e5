/** Rows without a key that differ in id and input alone, which is what a bulk is. */

import type { EnqueueAnswer } from "../../protocol/enqueue.ts";
import type { JobId } from "../../protocol/identity.ts";
import type { EndReason } from "../../protocol/job.ts";
import type { RowSettings } from "./new-row.ts";
import { stateOf } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** So many go in one statement by parameters; fewer as one JSON text, which costs more a row, but no statement each. */
const ROWS_A_STATEMENT = 32;
const EACH = ["job_id", "input"];

type IdAndInput = readonly [jobId: JobId, input: string | null];

/** Writes the rows and answers for each, in their order. What is not written was there before (C1). */
export function writeAlike(
  statements: Statements,
  settings: RowSettings,
  rows: readonly IdAndInput[],
  nowMs: number,
): EnqueueAnswer[] {
  const shared = { ...settings, now: nowMs };
  const [only] = rows;
  if (rows.length === 1 && only !== undefined) {
    const [jobId, input] = only;
    const isNew = statements.run("enqueue one", { ...shared, job_id: jobId, input }) === 1;
    return answersOf(rows, isNew ? undefined : findRepeats(statements, rows, undefined));
  }
  const lastSeq = statements.get<{ seq: number }>("last seq")?.seq;
  let written = 0;
  let from = 0;
  for (; from + ROWS_A_STATEMENT <= rows.length; from += ROWS_A_STATEMENT) {
    const some = rows.slice(from, from + ROWS_A_STATEMENT);
    written += statements.runRows("enqueue one", shared, EACH, some);
  }
  if (from < rows.length)
    written += statements.run("enqueue alike", { ...shared, jobs: JSON.stringify(rows.slice(from)) });
  return answersOf(rows, written === rows.length ? undefined : findRepeats(statements, rows, lastSeq));
}

type Repeats = (jobId: JobId) => EnqueueAnswer | undefined;

function answersOf(rows: readonly IdAndInput[], repeats: Repeats | undefined): EnqueueAnswer[] {
  return rows.map(([jobId]) => repeats?.(jobId) ?? { outcome: "enqueued", jobId });
}

/**
 * Tells for each id, asked in order, whether it was there before; of one that stands twice, the second was.
 *
 * @param lastSeq the highest before the jobs were written; undefined for a single job, which then was not
 */
function findRepeats(
  statements: Statements,
  rows: readonly IdAndInput[],
  lastSeq: number | undefined,
): Repeats {
  const found = statements.all<Repeated>("states of jobs", {
    ids: JSON.stringify(rows.map(([jobId]) => jobId)),
  });
  const byId = new Map(found.map((row) => [row.job_id, row]));
  const isNew = new Set(
    found.filter((row) => lastSeq !== undefined && row.seq > lastSeq).map((row) => row.job_id),
  );
  return (jobId) => {
    if (isNew.delete(jobId)) return undefined;
    const { phase, owner, end_reason: endReason } = byId.get(jobId) as Repeated;
    return { outcome: "repeated", jobId, state: stateOf(phase, owner), endReason };
  };
}

interface Repeated {
  readonly job_id: JobId;
  readonly seq: number;
  readonly phase: number;
  readonly owner: string | null;
  readonly end_reason: EndReason | null;
}
