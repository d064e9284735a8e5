import type { Clock } from "../../clock/world.ts";
import type { JobRecord } from "../../protocol/job.ts";

interface Start {
  readonly priority: number;
  readonly seq: number;
}

/** A queue, and where in it to begin. */
export interface Asked extends Start {
  readonly queue: string;
}

const FIRST: Start = { priority: -(2 ** 31), seq: 0 };

/**
 * Where in each queue the next claim may begin: behind the last job that this process has claimed. Before it stand only
 * rows that are leased, or dead and not yet cleaned away, through which every claim would have to walk; under somebody's
 * long transaction that walk is what makes queues slow.
 *
 * It is forgotten each `everyMs`, so that what takes its place in front (late commits, jobs given back, higher
 * priorities) is overtaken for no longer than that (C15).
 */
export class Hints {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #byQueue = new Map<string, Start>();
  readonly #withResources = new Set<string>();
  readonly #limited = new Set<string>();
  #forgottenMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  startsOf(queues: readonly string[], fromTheBeginning: boolean): Asked[] {
    const nowMs = this.#clock.monotonicMs();
    if (fromTheBeginning || nowMs - this.#forgottenMs >= this.#everyMs) {
      this.#byQueue.clear();
      this.#forgottenMs = nowMs;
    }
    return queues.map((queue) => ({ queue, ...(this.#byQueue.get(queue) ?? FIRST) }));
  }

  note(claimed: readonly JobRecord[]): void {
    for (const { queue, priority, seq } of claimed) {
      const known = this.#byQueue.get(queue) ?? FIRST;
      const isFurther = priority > known.priority || (priority === known.priority && seq > known.seq);
      if (isFurther) this.#byQueue.set(queue, { priority, seq });
    }
  }

  /** Whether a job that asks for a resource was met in any of them before. */
  knowResources(queues: readonly string[]): boolean {
    return queues.some((queue) => this.#withResources.has(queue));
  }

  noteResources(queues: readonly string[]): void {
    for (const queue of queues) this.#withResources.add(queue);
  }

  /** Whether the queue had a limit when it was last asked. */
  knowsLimit(queue: string): boolean {
    return this.#limited.has(queue);
  }

  /** Of the queues `asked`, these have a limit. */
  noteLimits(asked: readonly string[], limited: readonly string[]): void {
    for (const queue of asked) {
      if (limited.includes(queue)) this.#limited.add(queue);
      else this.#limited.delete(queue);
    }
  }

  /** Something became due that may stand in front. */
  forget(): void {
    this.#byQueue.clear();
  }
}
