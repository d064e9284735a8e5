/** I22: no time that a worker's clock has shown is sent to the store. It shows only where that clock is far off. */

import type { Evidence } from "./evidence.ts";
import { overlaps, strikes } from "./faults.ts";
import type { Broken, Judgement } from "./verdict.ts";

/** As near to the faked clock as a time that was taken from it can be when it is sent. */
const NEAR_MS = 20_000;

export function noWorkerClock(evidence: Evidence): Judgement {
  const { calls, faults, time } = evidence;
  const clocks = faults.filter(
    ({ kind, detail }) => kind === "clock" && Math.abs(Number(detail["offsetMs"] ?? 0)) > 3 * NEAR_MS,
  );
  const told = calls.filter(({ invoke }) => Array.isArray(invoke.detail?.["parameters"]));
  if (told.length === 0) return { notJudged: "the record has no statements' parameters" };
  if (clocks.length === 0) return { notJudged: "no worker's clock was set off" };
  if (evidence.record.store.startsWith("sqlite"))
    return { notJudged: "a file's clock is that of the worker" };
  const broken: Broken[] = [];
  for (const { op, invoke } of told) {
    const clock = clocks.find(
      (fault) => strikes(fault, invoke.process) && overlaps(fault, invoke.atMs, invoke.atMs),
    );
    // Where the store's clock shows the same, or has just done so, nobody can tell whose time it is.
    const isAlike = time.wasOff(invoke.atMs - NEAR_MS, invoke.atMs);
    if (clock === undefined || time.aheadMs === undefined || isAlike) continue;
    const fakedMs = time.aheadMs + invoke.atMs + Number(clock.detail["offsetMs"]);
    const shown = numbersIn(invoke.detail?.["parameters"]).find(
      (value) => Math.abs(value - fakedMs) < NEAR_MS,
    );
    if (shown === undefined) continue;
    const where = { atMs: invoke.atMs, ...(invoke.job === undefined ? {} : { job: invoke.job }) };
    broken.push({
      what: `I22: ${invoke.process} sent ${shown} with ${op}, which is its own clock's time`,
      ...where,
    });
  }
  return { broken };
}

function numbersIn(value: unknown): number[] {
  if (Array.isArray(value)) return value.flatMap(numbersIn);
  if (typeof value === "number") return [value];
  if (value instanceof Date) return [value.getTime()];
  if (typeof value !== "string")
    return typeof value === "object" && value !== null ? numbersIn(Object.values(value)) : [];
  return (value.match(/\b\d{13}\b/g) ?? []).map(Number);
}
