// No-op jobs that are all there at the beginning: from the moment when the workers are told to go until the last
// completion is confirmed. Starting the processes and opening the store is not counted.

import { inputOf, nowMs } from "../systems/system.js";
import { inFreshPlace } from "./place.js";
import { startWorkers } from "./workers.js";

const JOBS_AT_A_TIME = 1_000;

/**
 * Jobs a second.
 *
 * @param {import("../systems/system.js").System} system
 * @param {"full" | "normal"} synchronous
 * @param {{ processes: number, concurrency: number, share?: number }} how `share` of the system's number of jobs
 */
export function drain(system, synchronous, { processes, concurrency, share = 1 }) {
  return inFreshPlace(async (path) => {
    const jobs = Math.round(system.jobsToDrain[synchronous] * share);
    await fill(system, path, jobs);
    const done = new Map();
    let finish = (/** @type {number} */ _atMs) => {};
    const finished = new Promise((resolve) => {
      finish = resolve;
    });
    const order = { system: system.name, path, synchronous, concurrency, reportStarts: false };
    const workers = await startWorkers(processes, order, (news, worker) => {
      if (news.kind !== "done") return;
      done.set(worker, news);
      const reports = [...done.values()];
      if (reports.reduce((sum, report) => sum + report.jobs, 0) < jobs) return;
      finish(Math.max(...reports.map(({ lastAtMs }) => lastAtMs)));
    });
    const beganMs = nowMs();
    workers.go();
    const endedMs = await Promise.race([finished, workers.failed]).finally(workers.end);
    return (jobs / (endedMs - beganMs)) * 1_000;
  });
}

/** Not measured, so without waiting for the disk. */
async function fill(system, path, jobs) {
  const opened = await system.open({ path, synchronous: "normal" });
  for (let n = 0; n < jobs; n += JOBS_AT_A_TIME) {
    await opened.addMany(
      Array.from({ length: Math.min(JOBS_AT_A_TIME, jobs - n) }, (_, i) => inputOf(n + i)),
    );
  }
  await opened.close();
}
