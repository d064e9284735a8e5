/** One heap of things to happen, in virtual time: the whole of a run is decided by what is taken from it in which order. */

export interface Happening {
  readonly atMs: number;
  readonly order: number;
  readonly fn: () => void;
  /** Left out when its time comes: nobody waits for it any more. */
  isDropped: boolean;
}

export class VirtualTime {
  nowMs = 0;
  /** How many things have happened: the number of the present one. */
  count = 0;
  /** Of the times and the numbers of all that has happened: the same for the same story. */
  digest = 0;
  #heap: Happening[] = [];
  #order = 0;
  readonly #settled: () => Promise<void>;

  /** @param settled resolves when all promises that can go on have gone on */
  constructor(settled: () => Promise<void> = promisesSettled) {
    this.#settled = settled;
  }

  after(delayMs: number, fn: () => void): Happening {
    const atMs = this.nowMs + Math.max(0, delayMs);
    const happening = { atMs, order: this.#order++, fn, isDropped: false };
    this.#push(happening);
    return happening;
  }

  /** Until nothing is left before `untilMs`. After each happening all promises that can go on have gone on. */
  async run(untilMs: number, afterEach: () => boolean): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= untilMs; next = this.#heap[0]) {
      this.#pop();
      if (next.isDropped) continue;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      this.count++;
      this.digest =
        (Math.imul(this.digest ^ (next.order + Math.floor(next.atMs * 1_000)), 0x01000193) + 1) | 0;
      next.fn();
      await this.#settled();
      if (!afterEach()) return;
    }
    this.nowMs = Math.max(this.nowMs, untilMs);
  }

  #push(happening: Happening): void {
    const heap = this.#heap;
    let at = heap.push(happening) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(happening, heap[parent] as Happening)) break;
      heap[at] = heap[parent] as Happening;
      at = parent;
    }
    heap[at] = happening;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Happening;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Happening, heap[child] as Happening))
        child++;
      if (!isBefore(heap[child] as Happening, last)) break;
      heap[at] = heap[child] as Happening;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

/**
 * Ticks come after all promises that can go on, and those that they let go on, so one tick of our own says that they have.
 * This holds as long as nothing in the simulated processes asks for ticks or does real I/O; `realTurn` holds without it and
 * costs a turn of the event loop, and a test compares what the two tell.
 */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

export function realTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
