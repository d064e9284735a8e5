import { randomBytes } from "node:crypto";
import { v7 } from "uuid";
import { type JobId, type Owner, owner } from "../protocol/identity.ts";
import { sleepBy } from "./sleep.ts";
import type { Timer, TimerOptions, Timers, World } from "./world.ts";

/** Node clamps a longer timeout to 1 ms, so longer ones are waited for in pieces. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** The real clocks, timers, randomness and ids of this process. */
export function systemWorld(): World {
  return {
    clock: {
      monotonicMs(): number {
        // hrtime, unlike performance.now(), has one origin for all threads of the machine.
        const [seconds, nanoseconds] = process.hrtime();
        return seconds * 1000 + nanoseconds / 1e6;
      },
      wallMs: () => Date.now(),
    },
    timers: systemTimers,
    random: { next: () => Math.random() },
    ids: {
      jobId: (): JobId => v7({ random: sixteenBytes() }) as JobId,
      owner: (): Owner => owner(randomBytes(12).toString("base64url")),
    },
    reached() {},
  };
}

/** Random bytes are drawn for many ids at once: asking the system for each one costs more than all else of an id. */
const POOL_BYTES = 16 * 256;
let pool: Uint8Array = new Uint8Array(0);
let used = 0;

function sixteenBytes(): Uint8Array {
  if (used === pool.length) {
    pool = randomBytes(POOL_BYTES);
    used = 0;
  }
  used += 16;
  return pool.subarray(used - 16, used);
}

const systemTimers: Timers = {
  after(delayMs: number, fn: () => void, options: TimerOptions = {}): Timer {
    let handle: NodeJS.Timeout;
    const arm = (remainingMs: number): void => {
      const pieceMs = Math.min(remainingMs, LONGEST_TIMEOUT_MS);
      handle = setTimeout(() => (remainingMs > pieceMs ? arm(remainingMs - pieceMs) : fn()), pieceMs);
      if (options.background) handle.unref();
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(handle) };
  },

  nextTurn(fn: () => void): void {
    setImmediate(fn);
  },

  sleep: sleepBy((delayMs, fn) => systemTimers.after(delayMs, fn)),
};
