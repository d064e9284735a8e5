import type { Timers } from "./world.ts";

/** `Timers.sleep` by means of `after`, whichever clock that goes by. */
export function sleepBy(after: Timers["after"]): Timers["sleep"] {
  return (delayMs: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        timer.cancel();
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = after(delayMs, done);
      signal?.addEventListener("abort", done, { once: true });
    });
}
