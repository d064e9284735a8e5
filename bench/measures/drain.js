// No-op jobs that are all there at the beginning: from the moment when the workers are told to go until the last
// completion is confirmed; on PostgreSQL until the database says that no job is left. Starting the processes and opening
// the store is not counted.

import { inputOf, nowMs } from "../systems/system.js";
import { inFreshPlace } from "./place.js";
import { startWorkers } from "./workers.js";

const JOBS_AT_A_TIME = 1_000;
const LOOK_EVERY_MS = 2;

/**
 * Jobs a second.
 *
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {{ processes: number, concurrency: number, share?: number }} how `share` of the system's number of jobs
 */
export function drain(system, setting, { processes, concurrency, share = 1 }) {
  return inFreshPlace(setting, async (place) => {
    const jobs = Math.round(system.jobsToDrain[setting.mode] * share);
    await fill(system, place, jobs);
    await setting.server?.checkpoint();
    const done = new Map();
    let finish = (/** @type {number} */ _atMs) => {};
    const finished = new Promise((resolve) => {
      finish = resolve;
    });
    const unfinished = system.unfinished?.replace("{schema}", place.schema);
    // What is counted by the workers is the confirmed end, or the start where the database tells of the end.
    const order = {
      system: system.name,
      place,
      concurrency,
      report: unfinished === undefined ? "ends" : "counts",
    };
    const workers = await startWorkers(processes, order, (news, worker) => {
      if (news.kind !== "done") return;
      done.set(worker, news);
      const reports = [...done.values()];
      if (reports.reduce((sum, report) => sum + report.jobs, 0) < jobs) return;
      finish(Math.max(...reports.map(({ lastAtMs }) => lastAtMs)));
    });
    const beganMs = nowMs();
    workers.go();
    let endedMs = await Promise.race([finished, workers.failed]);
    if (unfinished !== undefined) {
      while (await setting.server.asks(unfinished))
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      endedMs = nowMs();
    }
    await workers.end();
    return (jobs / (endedMs - beganMs)) * 1_000;
  });
}

/** Not measured, so without waiting for the disk where that can be had. */
async function fill(system, place, jobs) {
  const opened = await system.open({ ...place, mode: place.mode === "full" ? "normal" : place.mode });
  for (let n = 0; n < jobs; n += JOBS_AT_A_TIME) {
    await opened.addMany(
      Array.from({ length: Math.min(JOBS_AT_A_TIME, jobs - n) }, (_, i) => inputOf(n + i)),
    );
  }
  await opened.close();
}
