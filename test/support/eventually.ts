import { setTimeout as sleep } from "node:timers/promises";

const LOOK_EVERY_MS = 10;
/** For the day on which it does not come: well below the time that a test has. */
const WITHIN_MS = 20_000;

/**
 * Looks until there is something to see, and answers it. Not for measuring: how long it takes is no part of any test.
 *
 * @param what for the error: "the lease to lapse"
 */
export async function eventually<Value>(
  what: string,
  look: () => Promise<Value | false | undefined> | Value | false | undefined,
  withinMs = WITHIN_MS,
): Promise<Value> {
  const untilMs = Date.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== false && seen !== undefined) return seen;
    if (Date.now() > untilMs) throw new Error(`Waited ${withinMs} ms in vain for ${what}`);
    await sleep(LOOK_EVERY_MS);
  }
}
