/** Steps: written for runs under their fences, one statement a batch, and removed with their job. */

import { type JobId, jobLine } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { Busy } from "../../protocol/outcome.ts";
import {
  resolutionText,
  resolveStep as resolveInCore,
  type StepRecord,
  type StepResolution,
  type StepResolved,
  type StepWrite,
  writeStep,
} from "../../protocol/step.ts";
import { stepFromRow } from "../step-rows.ts";
import type { RunWriteAnswer } from "../store.ts";
import { note } from "./journal.ts";
import { readMoment } from "./moment.ts";
import { explain } from "./refusals.ts";
import type { Sql } from "./statements.ts";
import { lockJobs } from "./transition.ts";

/** Not in a transaction: each batch is one statement, and what it leaves is explained by a later one (C9). */
export async function writeSteps(
  sql: Sql,
  writes: readonly StepWrite[],
  call: string,
): Promise<ReadonlyMap<StepWrite, RunWriteAnswer>> {
  const answers = new Map<StepWrite, RunWriteAnswer>();
  for (const round of inRounds(writes)) {
    const written = await writeRound(sql, round);
    const refused = round.filter((write) => !written.has(keyOf(write)));
    for (const write of round) answers.set(write, { outcome: "applied" });
    for (const [write, answer] of await explainSteps(sql, refused, call)) answers.set(write, answer);
  }
  return answers;
}

/** No step twice in a round: a statement cannot write a row twice. Nearly always there is one. */
function inRounds(writes: readonly StepWrite[]): StepWrite[][] {
  const rounds: StepWrite[][] = [];
  const seen = new Map<string, number>();
  for (const write of writes) {
    const round = seen.get(keyOf(write)) ?? 0;
    seen.set(keyOf(write), round + 1);
    rounds[round] ??= [];
    rounds[round].push(write);
  }
  return rounds;
}

function keyOf({ fence, step }: StepWrite): string {
  return `${fence.jobId} ${step}`;
}

async function writeRound(sql: Sql, writes: readonly StepWrite[]): Promise<ReadonlySet<string>> {
  const rows = await sql.rows<{ job_id: JobId; step: string }>("write steps", [
    writes.map(({ fence }) => fence.jobId),
    writes.map(({ fence }) => fence.owner),
    writes.map(({ fence }) => fence.generation),
    writes.map(({ step }) => step),
    writes.map(({ change }) => change.state),
    writes.map(({ change }) => (change.state === "begun" ? change.after : null)),
    writes.map(({ change }) => (change.state === "done" ? change.result : null)),
    writes.map(({ change }) => (change.state === "failed" ? change.error : null)),
  ]);
  return new Set(rows.map(({ job_id, step }) => `${job_id} ${step}`));
}

async function explainSteps(
  sql: Sql,
  refused: readonly StepWrite[],
  call: string,
): Promise<(readonly [StepWrite, RunWriteAnswer])[]> {
  if (refused.length === 0) return [];
  const explained = await explain(
    sql,
    refused.map(({ fence }) => ({ fence, operation: "step" })),
    call,
  );
  const current = refused.filter((_, index) => explained[index]?.outcome === "busy");
  const found = await findSteps(sql, current);
  return refused.map((write, index) => {
    const answer = explained[index] as RunWriteAnswer;
    if (answer.outcome !== "busy") return [write, answer];
    // The fence is current: either the record that was there refused it, or somebody had the job's row locked.
    const judged = writeStep(found.get(keyOf(write)), write, { run: 0, attempt: 0 }, 0);
    return [write, "answer" in judged ? judged.answer : (answer as Busy)];
  });
}

async function findSteps(sql: Sql, writes: readonly StepWrite[]): Promise<ReadonlyMap<string, StepRecord>> {
  if (writes.length === 0) return new Map();
  const rows = await sql.rows("find steps", [
    [...new Set(writes.map(({ fence }) => fence.jobId))],
    [...new Set(writes.map(({ step }) => step))],
  ]);
  return new Map(rows.map((row) => [`${row["job_id"]} ${row["step"]}`, stepFromRow(row)]));
}

export async function resolveStep(
  sql: Sql,
  id: JobId,
  step: string,
  resolution: StepResolution,
): Promise<StepResolved> {
  const job = (await lockJobs(sql, [id])).get(id);
  if (job === undefined) return { outcome: "gone" };
  const { nowMs } = await readMoment(sql);
  const { written, answer } = resolveInCore(job, await findStep(sql, job, step), resolution, nowMs);
  if (written === undefined) return answer;
  const { run, state, result } = written;
  await sql.rows("resolve step", [job.seq, run, step, state, nowMs, result]);
  const message = resolutionText(step, resolution);
  await note(sql, jobLine(id), [
    { kind: "log", atMs: nowMs, owner: null, generation: job.generation, message },
  ]);
  return answer;
}

export async function readSteps(sql: Sql, id: JobId, run: number | "present"): Promise<StepRecord[]> {
  return (await sql.rows("steps", [id, run === "present" ? null : run])).map(stepFromRow);
}

async function findStep(sql: Sql, { seq, run }: JobRecord, step: string): Promise<StepRecord | undefined> {
  const [row] = await sql.rows("find step", [seq, run, step]);
  return row === undefined ? undefined : stepFromRow(row);
}
