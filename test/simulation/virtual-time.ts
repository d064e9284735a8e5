/** One heap of things to happen, in virtual time: the whole of a run is decided by what is taken from it in which order. */

export interface Happening {
  readonly atMs: number;
  readonly order: number;
  readonly fn: () => void;
}

export class VirtualTime {
  nowMs = 0;
  /** How many things have happened: the number of the present one. */
  count = 0;
  #heap: Happening[] = [];
  #order = 0;

  after(delayMs: number, fn: () => void): Happening {
    const happening = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, fn };
    this.#push(happening);
    return happening;
  }

  /** Until nothing is left before `untilMs`. After each happening all promises that can go on have gone on. */
  async run(untilMs: number, afterEach: () => boolean): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= untilMs; next = this.#heap[0]) {
      this.#pop();
      this.nowMs = Math.max(this.nowMs, next.atMs);
      this.count++;
      next.fn();
      await realTurn();
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

function realTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
