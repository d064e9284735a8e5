/** I20 and I21: processes end as they should, and leave nothing open. */

import type { ExitDetail } from "../record.ts";
import { STOPS_WITHIN_MS } from "../settings.ts";
import type { Evidence } from "./evidence.ts";
import type { Broken, Judgement } from "./verdict.ts";

const RSS_MB_PER_10000_JOBS = 1;
/** Shorter runs say nothing about what grows. */
const MANY_JOBS = 10_000;

export function noLeaks({ notes }: Evidence): Judgement {
  const exits = (notes.get("exit") ?? []).filter(
    ({ detail }) => (detail as ExitDetail)?.handles !== undefined,
  );
  if (exits.length === 0) return { notJudged: "no process told what it left open" };
  const broken: Broken[] = [];
  for (const { process, incarnation, atMs, detail } of exits) {
    const { handles = {}, handlesAtStart = {}, rssMb = 0, rssAtStartMb = 0, jobs = 0 } = detail as ExitDetail;
    const say = (what: string): void =>
      void broken.push({ what: `I20: ${process}/${incarnation} ${what}`, atMs });
    for (const [kind, count] of Object.entries(handles)) {
      const before = handlesAtStart[kind] ?? 0;
      if (count > before) say(`ended with ${count} ${kind}, and began with ${before}`);
    }
    const grownMb = ((rssMb - rssAtStartMb) / Math.max(jobs, 1)) * 10_000;
    if (jobs >= MANY_JOBS && grownMb >= RSS_MB_PER_10000_JOBS)
      say(`grew by ${grownMb.toFixed(1)} MB for each 10,000 jobs`);
  }
  return { broken };
}

/** The signal may come while Node itself starts, with a clock of its own: no line of the worker has run then. */
export function hasBegun(
  notes: Evidence["notes"],
  process: string | undefined,
  incarnation: unknown,
): boolean {
  return (notes.get("began") ?? []).some(
    (note) => note.process === process && note.incarnation === incarnation,
  );
}

/** The harness may have stood still itself when it was to hear of an end: what the process has told of it counts. */
function hasEnded(notes: Evidence["notes"], process: string | undefined, incarnation: unknown): boolean {
  const [told, ended] = ["stopping", "exit"].map((op) =>
    (notes.get(op) ?? []).find((note) => note.process === process && note.incarnation === incarnation),
  );
  return told !== undefined && ended !== undefined && ended.atMs - told.atMs < STOPS_WITHIN_MS;
}

export function processesLive({ notes, lives }: Evidence): Broken[] {
  const broken: Broken[] = [];
  for (const { process, incarnation, atMs, detail } of notes.get("unhandled") ?? [])
    broken.push({ what: `I21: ${process}/${incarnation}: unhandled ${String(detail?.["error"])}`, atMs });
  for (const { atMs, target, detail } of notes.get("hung") ?? [])
    if (hasBegun(notes, target, detail?.["incarnation"]) && !hasEnded(notes, target, detail?.["incarnation"]))
      broken.push({ what: `I21: ${target} did not end when it was told to`, atMs });
  const tellsExits = (notes.get("exit") ?? []).length > 0;
  for (const { process, incarnation, exit, kill, toMs, wasFollowed } of lives.values()) {
    const code = (exit?.detail as ExitDetail | undefined)?.code ?? 0;
    if (code !== 0)
      broken.push({ what: `I21: ${process}/${incarnation} ended with code ${code}`, atMs: toMs });
    const isGone = exit === undefined && tellsExits && process.startsWith("worker");
    if (isGone && kill === undefined)
      broken.push({
        what: `I21: ${process}/${incarnation} ended without order${wasFollowed ? "" : ", or never"}`,
        atMs: toMs,
      });
  }
  return broken;
}
