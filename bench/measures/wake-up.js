// From the call that enqueues a job until its handler begins, with a worker that has nothing to do. The gaps between jobs
// are random and reach over a whole interval of polling, so that every moment in it is met.

import { inputOf, nowMs } from "../systems/system.js";
import { inFreshPlace } from "./place.js";
import { startWorkers } from "./workers.js";

const SAMPLES = 40;
const SETTLE_MS = 400;
const GAP_MS = 20;

/**
 * Latencies in ms.
 *
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {import("../systems/system.js").Variant} variant
 * @param {"same" | "other"} process which process the worker is in
 * @returns {Promise<number[]>}
 */
export function wakeUp(system, setting, variant, process) {
  return inFreshPlace(setting, async (fresh) => {
    const place = { ...fresh, variant };
    const opened = await system.open(place);
    const started = new Map();
    const onStart = (n, atMs = nowMs()) => started.get(n)?.(atMs);
    let workers;
    if (process === "same") {
      await opened.work({ concurrency: 10, onStart: (n) => onStart(n) });
    } else {
      const order = { system: system.name, place, concurrency: 10, report: "starts" };
      workers = await startWorkers(1, order, (news) => news.kind === "started" && onStart(news.n, news.atMs));
      workers.go();
    }
    const latencies = [];
    await sleep(SETTLE_MS);
    for (let n = 0; n < (variant.samples ?? SAMPLES); n++) {
      await sleep(GAP_MS + Math.max(2 * GAP_MS, variant.pollMs ?? 0) * Math.random());
      const began = new Promise((resolve) => started.set(n, resolve));
      const beganMs = nowMs();
      await opened.add(inputOf(n));
      latencies.push(
        (await Promise.race([began, ...(workers === undefined ? [] : [workers.failed])])) - beganMs,
      );
    }
    await workers?.end();
    await opened.close();
    return latencies;
  });
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
