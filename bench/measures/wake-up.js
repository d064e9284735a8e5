// From the call that enqueues a job until its handler begins, with workers that have nothing to do. The gaps between jobs
// are random and reach over a whole interval of polling, so that every moment in it is met.

import { inputOf, nowMs } from "../systems/system.js";
import { inFreshPlace } from "./place.js";
import { startWorkers } from "./workers.js";

const SAMPLES = 40;
/** Of a system that polls each second or so. */
const FEW_SAMPLES = 5;
const CONCURRENCY = 10;
const SETTLE_MS = 400;
/** Many take longer to connect, and to have looked in vain often enough that they look seldom. */
const SETTLE_MANY_MS = 4_000;
const GAP_MS = 20;

/**
 * Latencies in ms.
 *
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {{ where: string, workers: number, processes: number }} how whether the worker is in the `same` process as the
 *   caller; or in how many `other` processes how many workers are, each with connections of its own
 * @returns {Promise<number[]>}
 */
export function wakeUp(system, setting, how) {
  return inFreshPlace(setting, async (place) => {
    const opened = await system.open(place);
    const started = new Map();
    const onStart = (n, atMs = nowMs()) => started.get(n)?.(atMs);
    const workers = how.where === "same" ? undefined : await idleWorkers(system, place, how, onStart);
    try {
      if (workers === undefined) await opened.work({ concurrency: CONCURRENCY, onStart: (n) => onStart(n) });
      else workers.go();
      await sleep(how.workers > 1 ? SETTLE_MANY_MS : SETTLE_MS);
      const latencies = [];
      for (let n = 0; n < samplesOf(system, setting); n++) {
        await sleep(GAP_MS + Math.max(2 * GAP_MS, system.pollMs ?? 0) * Math.random());
        const began = new Promise((resolve) => started.set(n, resolve));
        const beganMs = nowMs();
        await opened.add(inputOf(n));
        const atMs = await Promise.race([began, ...(workers === undefined ? [] : [workers.failed])]);
        latencies.push(atMs - beganMs);
      }
      return latencies;
    } finally {
      await workers?.end();
      await opened.close();
    }
  });
}

/**
 * Worker processes that say of each job when it began.
 *
 * @param {import("../systems/system.js").System} system
 * @param {import("../systems/system.js").Place} place
 * @param {{ workers: number, processes: number, pollMs?: number }} how
 * @param {(n: number, atMs: number) => void} onStart
 */
export function idleWorkers(system, place, { workers, processes, pollMs }, onStart) {
  const order = {
    system: system.name,
    place,
    concurrency: CONCURRENCY,
    workers: workers / processes,
    pollMs,
    report: "starts",
  };
  return startWorkers(processes, order, (news) => news.kind === "started" && onStart(news.n, news.atMs));
}

function samplesOf({ pollMs = 0 }, { scale }) {
  return Math.ceil((pollMs >= 1_000 ? FEW_SAMPLES : SAMPLES) * Math.max(scale, 0.5));
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
