import type { Clock } from "../../clock/world.ts";
import type { JobRecord } from "../../protocol/job.ts";
import type { WalkPace } from "./walk-pace.ts";

interface Start {
  readonly priority: number;
  readonly seq: number;
}

/** A queue, and where in it to begin. */
export interface Asked extends Start {
  readonly queue: string;
}

const FIRST: Start = { priority: -(2 ** 31), seq: 0 };

/** From where a claim looks at each of its queues. */
export interface Starts {
  readonly asked: readonly Asked[];
  readonly isWalk: boolean;
  /** A walk is due, and has to wait for so long, ms. */
  readonly walkInMs: number | undefined;
}

/**
 * Where in each queue the next claim may begin: behind the last job that this process has claimed. Before it stand only
 * rows that are leased, or dead and not yet cleaned away, through which every claim would have to walk; under somebody's
 * long transaction that walk is what makes queues slow.
 *
 * It is forgotten each `everyMs`, so that what takes its place in front (late commits, jobs given back, higher
 * priorities) is overtaken for no longer than that (C15), unless the walk itself takes long.
 */
export class Hints {
  readonly #clock: Clock;
  readonly #pace: WalkPace;
  readonly #byQueue = new Map<string, Start>();
  readonly #withResources = new Set<string>();
  readonly #limited = new Set<string>();
  #walkedMs = Number.NEGATIVE_INFINITY;
  #restUntilMs = Number.NEGATIVE_INFINITY;
  #isForgotten = false;

  constructor(clock: Clock, pace: WalkPace) {
    this.#clock = clock;
    this.#pace = pace;
  }

  startsOf(queues: readonly string[], fromTheBeginning: boolean): Starts {
    const nowMs = this.#clock.monotonicMs();
    const isDue = fromTheBeginning || this.#isForgotten || nowMs - this.#walkedMs >= this.#pace.everyMs;
    const restLeftMs = this.#restUntilMs - nowMs;
    const isWalk = isDue && restLeftMs <= 0;
    if (isWalk) {
      this.#byQueue.clear();
      this.#isForgotten = false;
      this.#walkedMs = nowMs;
    }
    return {
      asked: queues.map((queue) => ({ queue, ...(this.#byQueue.get(queue) ?? FIRST) })),
      isWalk,
      walkInMs: isDue && !isWalk ? restLeftMs : undefined,
    };
  }

  /** A look has taken so long, without its commit, ms: from what walks take follows how often they are made. */
  noteLook(isWalk: boolean, tookMs: number): void {
    if (isWalk) {
      this.#pace.noteWalk(tookMs);
      this.#restUntilMs = this.#clock.monotonicMs() + this.#pace.restMs;
    } else this.#pace.noteClaim(tookMs);
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
    this.#isForgotten = true;
  }
}
