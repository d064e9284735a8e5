/** Requests with what came back, put together from the events of a history. */

import type { HistoryEvent } from "../record.ts";

/** What the caller was told: `unknown` also when it died, or gave up, before an answer came. */
export type Told = "yes" | "already" | "no" | "unknown";

export interface Call {
  readonly op: string;
  readonly invoke: HistoryEvent;
  /** A claim is answered job by job. */
  readonly replies: readonly HistoryEvent[];
}

/** Answers by which nothing was written. */
const REFUSALS: readonly string[] = ["stale", "gone", "busy", "conflict", "kept", "repeated", "replaced"];

export function callsOf(history: readonly HistoryEvent[]): Call[] {
  const calls: { op: string; invoke: HistoryEvent; replies: HistoryEvent[] }[] = [];
  const open = new Map<string, (typeof calls)[number]>();
  for (const event of history) {
    if (event.kind === "note" || event.process === "nemesis") continue;
    const key = `${event.process} ${event.incarnation} ${event.request} ${event.op}`;
    const ofJob = `${key} ${event.job}`;
    if (event.kind === "invoke") {
      const call = { op: event.op, invoke: event, replies: [] };
      calls.push(call);
      open.set(ofJob, call);
      if (!open.has(key) || event.job === undefined) open.set(key, call);
    } else {
      (open.get(ofJob) ?? open.get(key))?.replies.push(event);
    }
  }
  return calls;
}

export function told(reply: HistoryEvent | undefined): Told {
  if (reply === undefined || reply.kind === "info") return "unknown";
  if (reply.kind === "fail") return reply.outcome === "already" ? "already" : "no";
  if (reply.outcome === "already") return "already";
  return REFUSALS.includes(reply.outcome ?? "") ? "no" : "yes";
}

/** Of a call on one thing: a definite answer counts, even when it came after the caller had given up. */
export function answerOf({ replies }: Call): {
  readonly told: Told;
  readonly reply: HistoryEvent | undefined;
} {
  const reply = replies.find((one) => one.kind !== "info") ?? replies[0];
  return { told: told(reply), reply };
}

/** Whose fence a call or row is of. */
export function fenceKey(of: {
  readonly job?: string;
  readonly jobId?: string;
  readonly owner?: string | null;
  readonly generation?: number;
}): string {
  return `${of.job ?? of.jobId} ${of.owner} ${of.generation}`;
}

/** With a resource a claim's token is of the resource's line. */
export function jobGenerationOf({ generation = 0, detail }: HistoryEvent): number {
  const own = detail?.["jobGeneration"];
  return typeof own === "number" ? own : generation;
}

/** Whose run an event is of: effects and looks at the deadline carry the token, and the job's generation beside it. */
export function runKey(event: HistoryEvent): string {
  return fenceKey({
    generation: jobGenerationOf(event),
    ...(event.job === undefined ? {} : { job: event.job }),
    ...(event.owner === undefined ? {} : { owner: event.owner }),
  });
}
