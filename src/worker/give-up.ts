import type { Log } from "../client/log.ts";
import type { World } from "../clock/world.ts";

const TRIES = 5;
const AGAIN_MS = 50;

/**
 * Gives up what is held under a named lease. When that cannot be done, the lease lapses: whoever held it is not kept waiting
 * for long. Never rejects.
 *
 * @param what for people: `the lease "nightly"`
 * @param attempt whether all is given up; false and errors are tried again
 */
export async function giveUp(
  { timers, random }: Pick<World, "timers" | "random">,
  log: Log,
  what: string,
  attempt: () => Promise<boolean>,
): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      if (await attempt()) return;
    } catch (error) {
      const message = `${what} could not be released yet; it lapses by itself`;
      log({ level: "warning", kind: "release_failed", message, error });
    }
    await timers.sleep(AGAIN_MS * (1 + random.next()));
  }
}
