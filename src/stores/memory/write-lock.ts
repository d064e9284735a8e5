import type { Timers } from "../../clock/world.ts";
import { StoreBusyError } from "../../errors.ts";

/**
 * Lets one writer in at a time, in order of arrival. A write by itself is over within its turn, so only a caller's
 * transaction ever makes others wait; they give up at their own deadline, with nothing written.
 */
export class WriteLock {
  readonly #timers: Timers;
  readonly #waiting: (() => void)[] = [];
  #held = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** @throws {StoreBusyError} when the lock was not to be had within `timeoutMs` */
  acquire(operation: string, timeoutMs: number): Promise<void> {
    if (!this.#held) {
      this.#held = true;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        timer.cancel();
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(new StoreBusyError(operation, timeoutMs));
      };
      const timer = this.#timers.after(timeoutMs, giveUp, { background: true });
      this.#waiting.push(enter);
    });
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#held = false;
    else next();
  }
}
