import type { Instant } from "../../protocol/trust.ts";
import type { RunNumber } from "./messages.ts";

// Int32 places:
const STAMP = 0; // odd while the watchdog writes
const RUN = 1; // whose deadline the two clocks below are
const ENDED = 2; // written by the main loop: the last run that has ended
// Float64 places, behind them:
const MONOTONIC = 2;
const WALL = 3;

/**
 * What a process's watchdog and its main loop share. A renewal is seen by a handler that blocks its loop, and the
 * watchdog sees at once that a run has ended. Every field has one writer.
 */
export class TrustCell {
  readonly buffer: SharedArrayBuffer;
  readonly #ints: Int32Array;
  readonly #floats: Float64Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(32)) {
    this.buffer = buffer;
    this.#ints = new Int32Array(buffer);
    this.#floats = new Float64Array(buffer);
  }

  /** The watchdog's. */
  report(run: RunNumber, sent: Instant): void {
    Atomics.add(this.#ints, STAMP, 1);
    Atomics.store(this.#ints, RUN, run);
    this.#floats[MONOTONIC] = sent.monotonicMs;
    this.#floats[WALL] = sent.wallMs;
    Atomics.add(this.#ints, STAMP, 1);
  }

  /** When the last renewal of `run` that this process has heard of was sent. */
  reported(run: RunNumber): Instant | undefined {
    for (;;) {
      const stamp = Atomics.load(this.#ints, STAMP);
      const whose = Atomics.load(this.#ints, RUN);
      const sent = {
        monotonicMs: this.#floats[MONOTONIC] as number,
        wallMs: this.#floats[WALL] as number,
      };
      if ((stamp & 1) === 0 && Atomics.load(this.#ints, STAMP) === stamp)
        return whose === run ? sent : undefined;
    }
  }

  /** The main loop's: nothing of `run` goes on. */
  end(run: RunNumber): void {
    Atomics.store(this.#ints, ENDED, run);
  }

  hasEnded(run: RunNumber): boolean {
    return Atomics.load(this.#ints, ENDED) >= run;
  }
}
