import type { JobState } from "../../protocol/job.ts";
import { PHASE } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** The ends that are counted, by their columns. */
export type EndCount = "completed" | "failed" | "cancelled";

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
