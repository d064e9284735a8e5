/** Steps for people: one line each, with what is to be done about an unknown one. */

import type { JobView, StepView } from "../index.ts";
import { time } from "./output.ts";

export function stepsText(job: JobView, steps: readonly StepView[], nowMs: number): string {
  const width = Math.max(...steps.map(({ step }) => step.length));
  const lines = steps.map((step) => `  ${step.step.padEnd(width)}  ${sentence(step, nowMs)}`);
  const unknown = steps.find(({ state }) => state === "unknown");
  if (unknown !== undefined) {
    const name = unknown.step.replaceAll("'", `'\\''`);
    lines.push(
      `  Find out whether ${JSON.stringify(unknown.step)} happened (its key is ${unknown.key}), then:`,
      `  leasehold resolve-step ${job.jobId} '${name}' --done '…' | --not-done`,
    );
  }
  return lines.join("\n");
}

function sentence(step: StepView, nowMs: number): string {
  const by = `attempt ${step.attempt}, generation ${step.generation}`;
  const ended = time(step.endedAtMs, nowMs);
  if (step.owner === null) return `${step.state === "done" ? "done" : "not done"} ${ended}, said an operator`;
  if (step.state === "done") return `done ${ended} in ${by}${result(step)}`;
  if (step.state === "failed") return `failed ${ended} in ${by}: ${step.error?.message ?? ""}`;
  const begun = `begun ${time(step.begunAtMs, nowMs)} in ${by}`;
  return step.state === "unknown" ? `UNKNOWN, ${begun}, and has no end` : begun;
}

function result({ result }: StepView): string {
  return result === undefined ? "" : `: ${JSON.stringify(result)}`;
}
