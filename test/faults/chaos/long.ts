/** One run as `npm run chaos` asks for it, in a file that vitest runs: servers of ours end with a test. */

import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { Forbidden } from "../../support/optional.ts";
import { judge } from "./checker/judge.ts";
import { exitCodeOf } from "./checker/verdict.ts";
import { PLANS } from "./plans/plans.ts";
import { reportOf } from "./report.ts";
import { chaosRun, forget } from "./run.ts";

interface Asked {
  readonly plan: string;
  readonly seconds: number;
  readonly seed: number;
  readonly keep: string | undefined;
  /** Where the report is to be written, for the command to print. */
  readonly report: string;
}

/** For the ends of all processes, once the faults are over. */
const AFTERWARDS_MS = 180_000;

const asked = JSON.parse(process.env["LEASEHOLD_CHAOS"] ?? "{}") as Asked;
const plan = PLANS.find(({ name }) => name === asked.plan);

it(`chaos ${asked.plan} for ${asked.seconds} s, seed ${asked.seed}`, {
  timeout: asked.seconds * 3_000 + AFTERWARDS_MS,
}, async () => {
  if (plan === undefined)
    throw new Error(`There is no plan ${asked.plan}, but ${PLANS.map(({ name }) => name).join(", ")}`);
  const missing = plan.missing?.();
  if (missing instanceof Forbidden) {
    // Not run, which is not passed either.
    writeFileSync(
      asked.report,
      JSON.stringify({ text: `SKIPPED ${plan.name}: ${missing.why}\n`, exitCode: 2 }),
    );
    return;
  }
  if (missing !== undefined) throw new Error(`${plan.name}: ${missing}`);
  const { seed, seconds, keep } = asked;
  const run = await chaosRun({ plan, seed, seconds, ...(keep === undefined ? {} : { folder: keep }) });
  const verdict = judge(run.record);
  const exitCode = exitCodeOf(verdict);
  const kept = exitCode === 0 && keep === undefined ? "" : `kept in ${run.folder}\n`;
  writeFileSync(
    asked.report,
    JSON.stringify({ text: `${reportOf(run.record, verdict)}\n${kept}`, exitCode }),
  );
  if (kept === "") forget(run);
  expect(exitCode).toBe(0);
});
