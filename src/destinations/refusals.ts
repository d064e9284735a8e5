/** What a destination answers instead of writing. */

import { LeaseholdError } from "../errors.ts";
import type { Mark } from "../protocol/destination-rule.ts";
import type { FencingToken, Line } from "../protocol/identity.ts";

/** The destination has seen a later owner of the line, or an equal one of another name (D2), and wrote nothing. */
export class StaleTokenError extends LeaseholdError {
  readonly code = "LH_STALE_TOKEN";
  readonly token: FencingToken;
  /** What the destination keeps for the line; a store that still calls the refused owner current needs it (D6). */
  readonly mark: Mark;

  constructor(token: FencingToken, mark: Mark) {
    const other = token.generation === mark.generation ? " of another owner" : "";
    super(
      `${token.line}: a write with generation ${token.generation} refused, the destination has seen ${mark.generation}${other}.`,
      {
        next: "Stop: a later owner is at work. Whether an earlier write of yours landed before it is unknown (D5).",
      },
    );
    this.token = token;
    this.mark = mark;
  }
}

/** A token for a line whose mark was pruned away long ago (D7): nothing was written. */
export class PrunedLineError extends LeaseholdError {
  readonly code = "LH_PRUNED_LINE";
  readonly line: Line;

  constructor(line: Line) {
    super(`${line}: refused, its mark was pruned as that of a job that had ended.`, {
      next: "Stop: this worker was away for longer than the destination keeps marks.",
    });
    this.line = line;
  }
}

/** The key was used before for another request (D4): nothing was written. */
export class EffectMismatchError extends LeaseholdError {
  readonly code = "LH_EFFECT_MISMATCH";
  readonly key: string;

  constructor(key: string) {
    super(`${key}: this step was used before with another request.`, {
      next: "Give each effect of a run a step name of its own, and the same request whenever it is repeated.",
    });
    this.key = key;
  }
}

/** The same effect is under way (D4): nothing was written by this call. */
export class EffectRunningError extends LeaseholdError {
  readonly code = "LH_EFFECT_RUNNING";
  readonly key: string;
  /** When to ask again, ms. */
  readonly retryInMs: number;

  constructor(key: string, retryInMs: number) {
    super(`${key}: the same effect is being made just now.`, {
      next: `Ask again in ${Math.ceil(retryInMs)} ms; the answer is then the first one's.`,
    });
    this.key = key;
    this.retryInMs = retryInMs;
  }
}

/** The effect failed and all of it was taken back: nothing was written by this call, and there is no record of it. */
export class EffectFailedError extends LeaseholdError {
  readonly code = "LH_EFFECT_FAILED";
  /** The effect's key; the line where it had no step. */
  readonly key: string;

  constructor(key: string, why: string) {
    super(`${key}: the effect failed, and nothing was written. ${why.replace(/[.]$/, "")}.`, {
      next: "Correct the write; the next attempt makes it from the beginning.",
    });
    this.key = key;
  }
}

/** The effect broke off, and a part of it has landed: there is no record of success, nor is it made again (D4). */
export class EffectHalfMadeError extends LeaseholdError {
  readonly code = "LH_EFFECT_HALF_MADE";
  /** The effect's key; the line where it had no step, of which nothing is remembered. */
  readonly key: string;
  /** Whether it broke off in an earlier attempt, and this one has written nothing. */
  readonly isEarlier: boolean;

  constructor(key: string, why: string, isEarlier: boolean) {
    super(
      `${key}: the effect ${isEarlier ? "had broken off earlier" : "broke off"} and is half made. ${why}.`,
      {
        next: "Let a person look at what it wrote, put that right, and clear the key.",
      },
    );
    this.key = key;
    this.isEarlier = isEarlier;
  }
}
