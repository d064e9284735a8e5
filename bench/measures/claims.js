// How often idle workers ask the store for each job that comes: one of them gets it, the others should not all come running.
// They are told to look by themselves once a minute only, so that every claim that is counted has been called for.

import { inputOf } from "../systems/system.js";
import { inFreshPlace } from "./place.js";
import { idleWorkers } from "./wake-up.js";

const POLL_MS = 60_000;
const JOBS = 40;
const GAP_MS = 50;
const LOOK_EVERY_MS = 400;

/**
 * Claims for each job, all workers together.
 *
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {{ workers: number, processes: number }} how
 * @returns {Promise<number>}
 */
export function claimsPerJob(system, setting, how) {
  return inFreshPlace(setting, async (fresh) => {
    const place = { ...fresh, watched: true };
    const opened = await system.open(place);
    let began = (/** @type {unknown} */ _) => {};
    const workers = await idleWorkers(system, place, { ...how, pollMs: POLL_MS }, () => began(undefined));
    try {
      workers.go();
      const before = await atRest(workers, how.workers);
      for (let n = 0; n < JOBS; n++) {
        const started = new Promise((resolve) => {
          began = resolve;
        });
        await opened.add(inputOf(n));
        await Promise.race([started, workers.failed]);
        await sleep(GAP_MS);
      }
      return ((await atRest(workers, how.workers)) - before) / JOBS;
    } finally {
      await workers.end();
      await opened.close();
    }
  });
}

/** How many claims there have been when no more come. */
async function atRest(workers, count) {
  for (let before = 0; ; ) {
    await sleep(LOOK_EVERY_MS);
    const seen = await workers.seen();
    const claims = seen.reduce((sum, one) => sum + one.claims, 0);
    if (claims === before && seen.length === count && seen.every((one) => one.claims > 0)) return claims;
    before = claims;
  }
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
