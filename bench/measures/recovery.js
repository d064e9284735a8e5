// What a killed process leaves behind: 100 jobs that it was running. From the moment at which the lease of each lapsed until
// another worker process claims it, both by the store's clock, as the claim itself tells it. The other one has been there
// before, and has slept long enough to poll as rarely as it does; or it has jobs of its own all the time.

import { startLoad } from "./loads.js";
import { withOwn } from "./own-jobs.js";
import { inFreshPlace } from "./place.js";

export const JOBS = 100;
/** How long a lease is says only how long the measure takes. */
const LEASE_MS = 5_000;
/** Polling begins at 50 ms and doubles to 2 s, which it has reached by then. */
const RARELY_AFTER_MS = 5_000;
const FEED_EVERY_MS = 20;
const FEED_JOBS = 10;
const ALL_WITHIN_MS = 60_000;

/**
 * Latencies in ms.
 *
 * @param {import("../systems/system.js").System} system one of Leasehold's
 * @param {import("../cases.js").Setting} setting
 * @param {{ survivor: "idle" | "busy" }} how
 * @returns {Promise<number[]>}
 */
export function recovery(system, setting, { survivor }) {
  return inFreshPlace(setting, (place) =>
    withOwn(system, place, async ({ enqueueMany }) => {
      const common = { system: system.name, place, concurrency: JOBS };
      const victim = await startLoad({ ...common, handlerMs: "never" });
      /** @type {number[]} */
      const latencies = [];
      let allBack = () => {};
      const other = await startLoad({ ...common, reclaims: true }, ({ kind, lateMs }) => {
        if (kind !== "reclaimed") return;
        latencies.push(lateMs);
        if (latencies.length === JOBS) allBack();
      });
      const all = new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
        allBack = resolve;
      });
      const feeding = new AbortController();
      try {
        await enqueueMany(JOBS, () => ({ leaseMs: LEASE_MS }));
        const running = victim.until("begun", ({ begun }) => begun === JOBS);
        victim.go();
        await running;
        other.go();
        if (survivor === "busy") void feed(enqueueMany, feeding.signal);
        await sleep(RARELY_AFTER_MS);
        await victim.kill();
        await Promise.race([
          other.during(all),
          sleep(ALL_WITHIN_MS).then(() => {
            throw new Error(`${latencies.length} of ${JOBS} jobs were claimed again`);
          }),
        ]);
        return latencies;
      } finally {
        feeding.abort();
        await victim.kill();
        await other.kill();
      }
    }),
  );
}

/** @param {(count: number) => Promise<unknown>} enqueueMany @param {AbortSignal} signal */
async function feed(enqueueMany, signal) {
  while (!signal.aborted) {
    await enqueueMany(FEED_JOBS).catch(() => {});
    await sleep(FEED_EVERY_MS);
  }
}

function sleep(/** @type {number} */ ms) {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
