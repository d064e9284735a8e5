/** Handlers at work: from "handler began" to "handler ended", or to the end of their process. */

import type { HistoryEvent } from "../record.ts";
import { jobGenerationOf, runKey } from "./calls.ts";
import { type Life, lifeKey } from "./lives.ts";

export interface Run {
  readonly job: string;
  /** The job's, whatever its effects carry. */
  readonly generation: number;
  readonly owner: string | undefined;
  /** See `runKey`. */
  readonly key: string;
  readonly process: string;
  readonly incarnation: number;
  readonly beganMs: number;
  readonly endedMs: number;
  /** When its signal fired, first. */
  readonly abortedMs: number | undefined;
  readonly reason: string | undefined;
}

export function runsOf(history: readonly HistoryEvent[], lives: ReadonlyMap<string, Life>): Run[] {
  const runs: (Run & { endedMs: number; abortedMs: number | undefined; reason: string | undefined })[] = [];
  const open = new Map<string, (typeof runs)[number]>();
  for (const event of history) {
    if (event.kind !== "note" || event.job === undefined || event.generation === undefined) continue;
    const { job, owner, process, incarnation, atMs } = event;
    const generation = jobGenerationOf(event);
    const key = `${lifeKey(event)} ${job} ${generation}`;
    if (event.op === "handler began") {
      // The last line of a life may be its beginning: what follows is cut off with the process.
      const endedMs = Math.max(lives.get(lifeKey(event))?.toMs ?? atMs, atMs);
      const run = {
        job,
        generation,
        owner,
        key: runKey(event),
        process,
        incarnation,
        beganMs: atMs,
        endedMs,
      };
      const whole = { ...run, abortedMs: undefined, reason: undefined };
      runs.push(whole);
      open.set(key, whole);
    } else if (event.op === "handler ended") {
      const run = open.get(key);
      if (run !== undefined) run.endedMs = atMs;
      open.delete(key);
    } else if (event.op === "aborted") {
      const run = open.get(key);
      if (run === undefined || run.abortedMs !== undefined) continue;
      run.abortedMs = atMs;
      const reason = event.detail?.["reason"];
      run.reason = typeof reason === "string" ? reason : undefined;
    }
  }
  return runs;
}
