import type { Timer, Timers } from "../clock/world.ts";
import type { Claimed, ClaimRequest, Listener, Taker } from "./store.ts";

/** So many jobs of each queue have become due; or nobody knows what has. */
export type Due = ReadonlyMap<string, number> | "anything";

/** A ring for which no claim was sent for so long goes to everybody, ms. */
const PASSED_ON_AFTER_MS = 20;

/** What has become of a ring: claims have found what there was of it, or may have left some. */
export type RingEnd = "taken" | "found nothing" | "left over";

interface Sleeper {
  readonly onWake: () => void;
  readonly taker: Taker | undefined;
  armed: boolean;
}

interface Ring {
  readonly queue: string;
  readonly jobs: number;
  left: number;
  timer: Timer | undefined;
  /** Claims under way that were sent after it. */
  claims: number;
  readonly onEnd: ((end: RingEnd) => void) | undefined;
}

/** What became of a claim: the jobs that it found, or undefined when it failed. */
export type Answer = (jobs: Claimed["jobs"] | undefined) => void;

/**
 * Who takes jobs of one store in this process, and sleeps when there are none. A ring is for as many as have room for what has
 * become due, each in turn, and is passed on to the next when a claim came back full, or when nobody has claimed. It is
 * answered by a claim that was sent after it: one that is under way may not have seen what it rings for.
 */
export class Sleepers {
  readonly #timers: Timers;
  readonly #sleepers = new Set<Sleeper>();
  readonly #rings = new Set<Ring>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  get size(): number {
    return this.#sleepers.size;
  }

  /** @param taker what it could take; without it, every ring wakes it */
  listen(onWake: () => void, taker: Taker | undefined): Listener {
    const sleeper: Sleeper = { onWake, taker, armed: false };
    this.#sleepers.add(sleeper);
    return {
      arm: () => {
        sleeper.armed = this.#sleepers.has(sleeper);
      },
      close: () => {
        this.#sleepers.delete(sleeper);
      },
    };
  }

  clear(): void {
    this.#sleepers.clear();
    for (const ring of [...this.#rings]) this.#end(ring, undefined);
  }

  /** How many jobs of the queue could be taken here. */
  roomFor(queue: string): number {
    let room = 0;
    for (const sleeper of this.#sleepers) room += roomOf(sleeper, queue);
    return room;
  }

  /** Whether anybody here would ever take jobs of the queue. */
  serve(queue: string): boolean {
    for (const { taker } of this.#sleepers) if (taker?.queues.includes(queue)) return true;
    return false;
  }

  wakeAll(): void {
    for (const sleeper of this.#sleepers) wake(sleeper);
  }

  /** Where nobody else can be told. */
  ringAll(due: Due): void {
    if (due === "anything") this.wakeAll();
    else for (const [queue, jobs] of due) this.ring(queue, jobs);
  }

  /** Those who have not said what they take. */
  wakeOthers(): void {
    for (const sleeper of this.#sleepers) if (sleeper.taker === undefined) wake(sleeper);
  }

  ring(queue: string, jobs: number, onEnd?: (end: RingEnd) => void): void {
    if (this.#sleepers.size === 0) {
      onEnd?.("left over");
      return;
    }
    const ring: Ring = { queue, jobs, left: jobs, timer: undefined, claims: 0, onEnd };
    this.#rings.add(ring);
    this.#wakeFor(ring);
    this.#await(ring);
  }

  /** To be called before a claim is sent; what it returns, when it has been answered. */
  asks({ queues, limit }: ClaimRequest): Answer {
    if (this.#rings.size === 0) return nothing;
    const asked = [...this.#rings].filter(({ queue }) => queues.includes(queue));
    if (asked.length === 0) return nothing;
    for (const ring of asked) ring.claims++;
    return (jobs) => {
      for (const ring of asked) {
        ring.claims--;
        if (jobs === undefined || !this.#rings.has(ring)) continue;
        // A lapsed job is not what a ring has told of.
        ring.left -= jobs.filter(
          ({ job, previous }) => job.queue === ring.queue && previous === undefined,
        ).length;
        if (jobs.length < limit || ring.left <= 0)
          this.#end(ring, ring.left < ring.jobs ? "taken" : "found nothing");
        else this.#wakeFor(ring);
      }
    };
  }

  #await(ring: Ring): void {
    ring.timer = this.#timers.after(PASSED_ON_AFTER_MS, () => this.#late(ring), { background: true });
  }

  #late(ring: Ring): void {
    // Where the store is slow, others would make it slower.
    if (ring.claims > 0) {
      this.#await(ring);
      return;
    }
    for (const sleeper of this.#sleepers) if (roomOf(sleeper, ring.queue) > 0) wake(sleeper);
    this.#end(ring, "left over");
  }

  #end(ring: Ring, end: RingEnd | undefined): void {
    if (!this.#rings.delete(ring)) return;
    ring.timer?.cancel();
    if (end !== undefined) ring.onEnd?.(end);
  }

  #wakeFor({ queue, left }: Ring): void {
    let wanted = left;
    for (const sleeper of [...this.#sleepers]) {
      if (sleeper.taker === undefined) wake(sleeper);
      const room = roomOf(sleeper, queue);
      if (room <= 0 || wanted <= 0) continue;
      wanted -= room;
      wake(sleeper); // who is awake looks once more before it sleeps
      // The next ring wakes another one.
      this.#sleepers.delete(sleeper);
      this.#sleepers.add(sleeper);
    }
  }
}

function roomOf({ taker }: Sleeper, queue: string): number {
  return taker?.queues.includes(queue) ? taker.room() : 0;
}

/** In a microtask of its own, never inside the write that has caused it. */
function wake(sleeper: Sleeper): void {
  if (!sleeper.armed) return;
  sleeper.armed = false;
  queueMicrotask(sleeper.onWake);
}

function nothing(): void {}

/** Makes a claim and says what became of it. */
export async function answered(answer: Answer, claim: () => Promise<Claimed>): Promise<Claimed> {
  let claimed: Claimed | undefined;
  try {
    claimed = await claim();
    return claimed;
  } finally {
    answer(claimed?.jobs);
  }
}
