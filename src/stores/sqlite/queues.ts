import type { JobState } from "../../protocol/job.ts";
import { PHASE } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** The id of a queue, which is added when it is new. Not remembered: a transaction that adds one may be rolled back. */
export function queueId(statements: Statements, name: string): number {
  const found = statements.get<{ id: number }>("find queue", { name });
  if (found !== undefined) return found.id;
  statements.run("add queue", { name });
  return statements.get<{ id: number }>("find queue", { name })?.id as number;
}

/** Ended jobs by queue, gathered over a batch and written once. */
export class EndCounts {
  readonly #byQueue = new Map<number, { completed: number; failed: number; cancelled: number }>();

  add(queue: number, state: JobState | number, by = 1): void {
    const ended = typeof state === "number" ? stateOfPhase(state) : state;
    if (ended !== "completed" && ended !== "failed" && ended !== "cancelled") return;
    let counts = this.#byQueue.get(queue);
    if (counts === undefined) {
      counts = { completed: 0, failed: 0, cancelled: 0 };
      this.#byQueue.set(queue, counts);
    }
    counts[ended] += by;
  }

  write(statements: Statements): void {
    for (const [id, counts] of this.#byQueue) statements.run("count ends", { id, ...counts });
  }
}

function stateOfPhase(phase: number): JobState | undefined {
  if (phase === PHASE.completed) return "completed";
  if (phase === PHASE.failed) return "failed";
  return phase === PHASE.cancelled ? "cancelled" : undefined;
}
