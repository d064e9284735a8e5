/** Random choices of one run, all drawn from its seed. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** In [0, 1). Mulberry32: short, and the same everywhere. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    const state = this.#state;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  happens(probability: number): boolean {
    return this.next() < probability;
  }

  between(from: number, to: number): number {
    return from + this.next() * (to - from);
  }

  whole(from: number, to: number): number {
    return Math.floor(this.between(from, to + 1));
  }

  of<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)] as T;
  }

  /** Another stream, so that what one part draws does not change what another one does. */
  branch(): Chance {
    return new Chance(Math.floor(this.next() * 2 ** 32));
  }
}
