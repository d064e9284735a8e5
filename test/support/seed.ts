import { inject } from "vitest";

/** The seed of this run: `SEED` from the environment, else drawn once and printed before the first test. */
export const seed: number = inject("seed");

/**
 * A generator of numbers in [0, 1) that depends on the run's seed and `name` alone: give each test its own name, and
 * neither another test nor the order of files changes what it draws.
 *
 * Not for secrets: mulberry32 over an FNV-1a hash, chosen because it is short and the same everywhere.
 */
export function seededRandom(name: string): () => number {
  let state = hash(`${seed}:${name}`);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value;
}
