/** Durations and numbers as people type them: `30s`, `5m`, `250ms`. The API knows milliseconds only. */

import { InvalidArgumentError } from "commander";
import ms from "ms";

/** `ms` reads odd strings as undefined or as years; what is accepted here is what the documentation lists. */
const DURATION = /^\d+(?:\.\d+)? ?(?:ms|s|m|h|d|w)$/;

/**
 * Reads a duration into whole milliseconds. A bare number is refused: whether `30` means seconds or milliseconds is
 * not for the reader to guess.
 */
export function duration(text: string): number {
  const value = DURATION.test(text) ? ms(text as ms.StringValue) : undefined;
  if (value === undefined || !Number.isFinite(value)) {
    throw new InvalidArgumentError("Give a number with a unit (ms, s, m, h, d, w), such as 30s or 250ms.");
  }
  return Math.round(value);
}

/** A parser for whole numbers from `min` up. */
export function wholeNumber(min: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value) || value < min) {
      throw new InvalidArgumentError(`Give a whole number, ${min} or more.`);
    }
    return value;
  };
}

/** A duration for people: `1.2s`, `3m`. */
export function shortDuration(valueMs: number): string {
  if (valueMs < 1000) return `${Math.round(valueMs)}ms`;
  return valueMs < 60_000 ? `${(valueMs / 1000).toFixed(1)}s` : ms(Math.round(valueMs));
}
