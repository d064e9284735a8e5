/** I14: after the last fault everything goes on. */

import { i14NothingStuck } from "../../../../src/protocol/invariants.ts";
import { isEnded } from "../../../../src/protocol/job.ts";
import type { RunRecord } from "../record.ts";
import type { Evidence } from "./evidence.ts";
import type { Judgement } from "./verdict.ts";

/** How long after the last fault all must go on again, ms. */
export function boundMs({ leaseMs, pollMs, maxBackoffMs }: RunRecord): number {
  return 2 * leaseMs + pollMs + maxBackoffMs;
}

export function nothingStuck({ record, finals, changesByJob, time }: Evidence): Judgement {
  const bound = boundMs(record);
  const quietMs = record.endedAtMs - record.healedAtMs;
  if (quietMs < bound)
    return { notJudged: `the run went on for ${quietMs} ms after its last fault, not ${bound}` };
  const lastMs = Math.max(0, ...[...changesByJob.values()].map((own) => own.at(-1)?.storeMs ?? 0));
  const nowMs = time.storeMs(record.endedAtMs) ?? lastMs;
  const live = [...finals].filter(([, job]) => !isEnded(job));
  const broken = live.flatMap(([id, job]) => {
    // Since its last change it waits, however long ago it was enqueued.
    const sinceMs = changesByJob.get(id)?.at(-1)?.storeMs ?? job.createdAtMs;
    const what = i14NothingStuck([{ ...job, createdAtMs: sinceMs }], nowMs, bound);
    if (what !== undefined) return [{ what, job: id, atMs: record.endedAtMs }];
    const strands = job.blockedBy > 0 && live.every(([, other]) => other.blockedBy > 0);
    return strands ? [{ what: `I14: job ${id} waits for jobs that have all ended`, job: id }] : [];
  });
  return { broken };
}
