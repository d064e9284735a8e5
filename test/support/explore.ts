import { generation, type JobId } from "../../src/protocol/identity.ts";
import type { Transition } from "../../src/protocol/invariants.ts";
import { beginning, type Model, newHistoryJob, type Step, stepsAfter } from "./histories.ts";
import { play } from "./play.ts";

/** One step after a history, and what it did. */
export interface Visit {
  readonly steps: readonly Step[];
  readonly before: Model;
  readonly after: Model;
  readonly answer: unknown;
  /** Whether it leads to a state that nothing led to before; then histories go on from there. */
  readonly isNew: boolean;
  /** Those of this step. */
  readonly transitions: readonly Transition[];
  /** Those of the whole history, this step's included. */
  readonly history: readonly Transition[];
}

interface Node {
  readonly model: Model;
  readonly steps: readonly Step[];
  readonly history: readonly Transition[];
}

/**
 * Visits every step of every history of at most `length` steps. Histories that lead to the same state are gone on from
 * once: what can follow depends on the state alone (which holds every generation given out, and the starts).
 *
 * @returns how many states and steps were seen
 */
export function explore(
  length: number,
  resource: string | null,
  visit: (visit: Visit) => void,
): { readonly states: number; readonly steps: number } {
  const job = newHistoryJob("00000000-0000-4000-8000-000000000001" as JobId, "q", resource);
  const start: Node = {
    model: beginning(job, { epoch: 0, deletedGeneration: generation(0) }),
    steps: [],
    history: [],
  };
  const seen = new Set([keyOf(start)]);
  let frontier = [start];
  let steps = 0;
  for (let depth = 0; depth < length; depth += 1) {
    const next: Node[] = [];
    for (const node of frontier) {
      for (const step of stepsAfter(node.model)) {
        const { model, answer, transitions } = play(node.model, step);
        steps += 1;
        const reached = { model, steps: [...node.steps, step], history: [...node.history, ...transitions] };
        const key = keyOf(reached);
        const isNew = !seen.has(key);
        visit({ ...reached, before: node.model, after: model, answer, transitions, isNew });
        if (!isNew) continue;
        seen.add(key);
        next.push(reached);
      }
    }
    frontier = next;
  }
  return { states: seen.size, steps };
}

/** The model tells all that the invariants depend on: also how many starts are left, by its attempts. */
function keyOf({ model }: Node): string {
  return JSON.stringify(model);
}
