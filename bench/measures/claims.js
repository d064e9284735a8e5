// How often idle workers ask the store for each job that comes: one of them gets it, the others should not all come running.

import { inputOf, nowMs } from "../systems/system.js";
import { inFreshPlace } from "./place.js";
import { idleWorkers } from "./wake-up.js";

/** By then the wait between two polls, which doubles, is as long as it gets. */
const SETTLE_MS = 4_500;
const IDLE_MS = 4_000;
const JOBS = 40;
const GAP_MS = 50;

/**
 * Claims for each job, all workers together, less those that they make by the clock with nothing to do.
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
    const workers = await idleWorkers(system, place, how, () => began(undefined));
    try {
      const claims = async () => (await workers.seen()).reduce((sum, { claims }) => sum + claims, 0);
      workers.go();
      await sleep(SETTLE_MS);
      const atFirst = { claims: await claims(), ms: nowMs() };
      await sleep(IDLE_MS);
      const afterIdle = { claims: await claims(), ms: nowMs() };
      for (let n = 0; n < JOBS; n++) {
        const started = new Promise((resolve) => {
          began = resolve;
        });
        await opened.add(inputOf(n));
        await Promise.race([started, workers.failed]);
        await sleep(GAP_MS);
      }
      const atLast = { claims: await claims(), ms: nowMs() };
      const pollsPerMs = (afterIdle.claims - atFirst.claims) / (afterIdle.ms - atFirst.ms);
      return (atLast.claims - afterIdle.claims - pollsPerMs * (atLast.ms - afterIdle.ms)) / JOBS;
    } finally {
      await workers.end();
      await opened.close();
    }
  });
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
