/** Steps over a map: those of a job stand together, and go with it. */

import type { Fence, JobId } from "../../protocol/identity.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { Already } from "../../protocol/outcome.ts";
import {
  byTime,
  resolutionText,
  resolveStep,
  type StepConflict,
  type StepRecord,
  type StepResolution,
  type StepResolved,
  type StepWrite,
  writeStep,
} from "../../protocol/step.ts";
import type { RunWritten } from "../store.ts";
import { noteJob } from "./journal.ts";
import type { MemoryState, Moment } from "./state.ts";

/** The fence has been asked. */
export function writeStepOf(
  at: Moment,
  job: JobRecord,
  write: StepWrite,
): RunWritten | Already | StepConflict {
  const done = writeStep(find(at, job, write.step), write, job, at.nowMs);
  if ("answer" in done) return done.answer;
  put(at, write.fence, done.written);
  return { outcome: "applied" };
}

export function resolveStepOf(at: Moment, id: JobId, step: string, resolution: StepResolution): StepResolved {
  const job = at.state.jobs.get(id);
  if (job === undefined) return { outcome: "gone" };
  const { written, answer } = resolveStep(job, find(at, job, step), resolution, at.nowMs);
  if (written !== undefined) {
    put(at, job, written);
    const { generation } = job;
    noteJob(at, job, "log", { owner: null, generation }, resolutionText(step, resolution));
  }
  return answer;
}

export function stepsOf(state: MemoryState, id: JobId, run: number | "present"): StepRecord[] {
  const wanted = run === "present" ? state.jobs.get(id)?.run : run;
  return (state.steps.get(id) ?? []).filter((step) => step.run === wanted).sort(byTime);
}

function find({ state }: Moment, { jobId, run }: JobRecord, name: string): StepRecord | undefined {
  return state.steps.get(jobId)?.find((step) => step.step === name && step.run === run);
}

function put({ state }: Moment, { jobId }: Pick<Fence, "jobId">, written: StepRecord): void {
  const others = (state.steps.get(jobId) ?? []).filter(
    ({ step, run }) => step !== written.step || run !== written.run,
  );
  state.steps.set(jobId, [...others, written]);
}
