/** Steps: written for a run under its fence, which the caller has asked, and removed with their job. */

import { type JobId, jobLine } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { Already } from "../../protocol/outcome.ts";
import {
  prunedTogether,
  resolutionText,
  resolveStep as resolveInCore,
  type StepConflict,
  type StepRecord,
  type StepResolution,
  type StepResolved,
  type StepWrite,
  writeStep as writeInCore,
} from "../../protocol/step.ts";
import { stepFromRow } from "../step-rows.ts";
import type { RunWritten } from "../store.ts";
import { note } from "./journal.ts";
import { readMoment } from "./moment.ts";
import type { Statements } from "./statements.ts";
import { findJob } from "./transition.ts";

export function writeStep(
  statements: Statements,
  job: JobRecord,
  write: StepWrite,
  nowMs: number,
): RunWritten | Already | StepConflict {
  const done = writeInCore(findStep(statements, job, write.step), write, job, nowMs);
  if ("answer" in done) return done.answer;
  save(statements, job.seq, done.written);
  return { outcome: "applied" };
}

export function resolveStep(
  statements: Statements,
  id: JobId,
  step: string,
  resolution: StepResolution,
): StepResolved {
  const { nowMs } = readMoment(statements);
  const job = findJob(statements, id);
  if (job === undefined) return { outcome: "gone" };
  const { written, answer } = resolveInCore(job, findStep(statements, job, step), resolution, nowMs);
  if (written !== undefined) {
    save(statements, job.seq, written);
    const message = resolutionText(step, resolution);
    note(statements, jobLine(id), [
      { kind: "log", atMs: nowMs, owner: null, generation: job.generation, message },
    ]);
  }
  return answer;
}

export function readSteps(statements: Statements, id: JobId, run: number | "present"): StepRecord[] {
  return statements.all("steps", { job_id: id, run: run === "present" ? null : run }).map(stepFromRow);
}

/** Those of these jobs, in their order, that one pruning takes with all their steps. */
export function boundedBySteps<Job extends { readonly seq: number }>(
  statements: Statements,
  jobs: readonly Job[],
): readonly Job[] {
  if (jobs.length === 0) return jobs;
  const rows = statements.all<{ steps: number }>("count steps", {
    seqs: JSON.stringify(jobs.map(({ seq }) => seq)),
  });
  return jobs.slice(0, prunedTogether(rows.map(({ steps }) => steps)));
}

function findStep(statements: Statements, { seq, run }: JobRecord, step: string): StepRecord | undefined {
  const row = statements.get("find step", { seq, run, step });
  return row === undefined ? undefined : stepFromRow(row);
}

function save(statements: Statements, seq: number, written: StepRecord): void {
  statements.run("save step", {
    seq,
    run: written.run,
    step: written.step,
    state: written.state,
    owner: written.owner,
    generation: written.generation,
    attempt: written.attempt,
    begun_at: written.begunAtMs,
    ended_at: written.endedAtMs,
    result: written.result,
    error: written.error,
  });
}
