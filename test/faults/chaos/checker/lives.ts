/** One start of a process, from its first line to its end. */

import type { HistoryEvent } from "../record.ts";
import type { Fault } from "./faults.ts";

export interface Life {
  readonly process: string;
  readonly incarnation: number;
  readonly fromMs: number;
  /** When it was killed, had ended, or wrote its last line. */
  readonly toMs: number;
  readonly exit: HistoryEvent | undefined;
  /** The fault that killed it. */
  readonly kill: Fault | undefined;
  /** Another incarnation followed. */
  readonly wasFollowed: boolean;
}

export function lifeKey({ process, incarnation }: Pick<Life, "process" | "incarnation">): string {
  return `${process} ${incarnation}`;
}

/** A kill is told by the nemesis; the killed process writes nothing of it, and perhaps nothing of what it did last. */
export function livesOf(history: readonly HistoryEvent[], faults: readonly Fault[]): Map<string, Life> {
  const spans = new Map<
    string,
    { first: HistoryEvent; last: HistoryEvent; exit: HistoryEvent | undefined }
  >();
  for (const event of history) {
    if (event.process === "nemesis" || event.process === "destination") continue;
    const key = lifeKey(event);
    const span = spans.get(key);
    if (span === undefined) spans.set(key, { first: event, last: event, exit: exitOf(event) });
    else {
      span.last = event;
      span.exit ??= exitOf(event);
    }
  }
  const lives = new Map<string, Life>();
  for (const [key, { first, last, exit }] of spans) {
    const { process, incarnation } = first;
    const next = spans.get(lifeKey({ process, incarnation: incarnation + 1 }))?.first;
    const endsBy = next?.atMs ?? Number.POSITIVE_INFINITY;
    const kill = faults.find(
      ({ kind, target, fromMs }) =>
        (kind === "kill" || kind === "stop") &&
        target === process &&
        fromMs >= first.atMs &&
        fromMs <= endsBy,
    );
    const isKilled = exit === undefined && kill?.kind === "kill";
    lives.set(key, {
      process,
      incarnation,
      fromMs: first.atMs,
      toMs: isKilled ? Math.max(kill.fromMs, last.atMs) : (exit?.atMs ?? last.atMs),
      exit,
      kill,
      wasFollowed: next !== undefined,
    });
  }
  return lives;
}

function exitOf(event: HistoryEvent): HistoryEvent | undefined {
  return event.kind === "note" && event.op === "exit" ? event : undefined;
}
