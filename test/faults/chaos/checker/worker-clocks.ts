/** I22: no time that a worker's clock has shown is sent to the store. It shows only where that clock is far off. */

import type { Evidence } from "./evidence.ts";
import { overlaps, strikes } from "./faults.ts";
import type { Broken, Judgement } from "./verdict.ts";

/** As near to the faked clock as a time that was taken from it can be when it is sent. */
const NEAR_MS = 20_000;

export function noWorkerClock(evidence: Evidence): Judgement {
  const { notes, faults, time } = evidence;
  if (evidence.record.store.startsWith("sqlite"))
    return { notJudged: "a file's clock is that of the worker" };
  if (!notes.has("statements watched")) return { notJudged: "nobody watched the statements" };
  const clocks = faults.filter(
    ({ kind, detail }) => kind === "clock" && Math.abs(Number(detail["offsetMs"] ?? 0)) > 3 * NEAR_MS,
  );
  if (clocks.length === 0) return { notJudged: "no worker's clock was set off" };
  const broken: Broken[] = [];
  for (const { process, atMs, detail } of notes.get("statement") ?? []) {
    const clock = clocks.find((fault) => strikes(fault, process) && overlaps(fault, atMs, atMs));
    // Where the store's clock shows the same, or has just done so, nobody can tell whose time it is.
    const isAlike = time.wasOff(atMs - NEAR_MS, atMs);
    if (clock === undefined || time.aheadMs === undefined || isAlike) continue;
    const fakedMs = time.aheadMs + atMs + Number(clock.detail["offsetMs"]);
    const shown = (detail?.["parameters"] as readonly number[] | undefined)?.find(
      (value) => Math.abs(value - fakedMs) < NEAR_MS,
    );
    if (shown === undefined) continue;
    broken.push({ what: `I22: ${process} sent ${shown}, which is its own clock's time`, atMs });
  }
  return { broken };
}
