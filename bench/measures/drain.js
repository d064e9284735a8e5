// No-op jobs that are all there at the beginning: from the moment when the workers are told to go until the last
// completion is confirmed; on a server until it says that no job is left. Starting the processes and opening the store is
// not counted.

import { inputOf, nowMs } from "../systems/system.js";
import { cpuSeconds, withChildren } from "./cpu.js";
import { isLeft, tellsWhatIsLeft } from "./left.js";
import { inFreshPlace } from "./place.js";
import { startWorkers } from "./workers.js";

const JOBS_AT_A_TIME = 1_000;
const LOOK_EVERY_MS = 2;
const CPU_FOR_JOBS = 10_000;

/**
 * Jobs a second; with `cpu`, where the machine tells it, also CPU seconds for each 10,000 jobs, by side.
 *
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {{ processes: number, concurrency: number, share?: number, results?: boolean, cpu?: boolean, watched?: boolean,
 *   onEnd?: (workers: import("./workers.js").Workers) => Promise<unknown> }} how `share` of the system's number of jobs;
 *   `results`: handlers return what they were given; `onEnd` is called when all is done and the workers are still there
 * @returns {Promise<number | Record<string, number>>}
 */
export function drain(system, setting, how) {
  const { processes, results = false, cpu = false, share = 1 } = how;
  return inFreshPlace(setting, async (fresh) => {
    const place = { ...fresh, watched: how.watched };
    const jobs = Math.round(system.jobsToDrain[setting.mode] * share * setting.scale);
    await fill(system, place, jobs);
    await setting.server?.checkpoint();
    // What is counted by the workers is the confirmed end, or the start where the server tells of the end.
    const order = {
      system: system.name,
      place,
      concurrency: system.concurrency ?? how.concurrency,
      results,
      report: tellsWhatIsLeft(system) ? "counts" : "ends",
    };
    const done = new Map();
    let finish = (/** @type {number} */ _atMs) => {};
    const finished = new Promise((resolve) => {
      finish = resolve;
    });
    const workers = await startWorkers(processes, order, (news, worker) => {
      if (news.kind !== "done") return;
      done.set(worker, news);
      const reports = [...done.values()];
      if (reports.reduce((sum, report) => sum + report.jobs, 0) < jobs) return;
      finish(Math.max(...reports.map(({ lastAtMs }) => lastAtMs)));
    });
    try {
      const server = system.on === "redis" ? setting.redis : setting.server;
      const spent = cpu ? meter(workers.pids, server?.pid) : undefined;
      const beganMs = nowMs();
      workers.go();
      let endedMs = await Promise.race([finished, workers.failed]);
      if (tellsWhatIsLeft(system)) {
        while (await isLeft(system, setting, place))
          await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
        endedMs = nowMs();
      }
      const rate = (jobs / (endedMs - beganMs)) * 1_000;
      const cpuSpent = spent?.(jobs);
      await how.onEnd?.(workers);
      return cpuSpent === undefined ? rate : { "": rate, ...cpuSpent };
    } finally {
      await workers.end();
    }
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

/** What both sides spend from now on; nothing where the machine does not tell. */
function meter(workers, server) {
  const read = () => ({
    "CPU of workers, 10,000 jobs": cpuSeconds(workers),
    "CPU of the server, 10,000 jobs": server === undefined ? undefined : cpuSeconds(withChildren(server)),
  });
  const before = read();
  return (jobs) => {
    const after = read();
    const sides = Object.keys(after).filter(
      (side) => before[side] !== undefined && after[side] !== undefined,
    );
    if (sides.length === 0) return undefined;
    return Object.fromEntries(
      sides.map((side) => [side, ((after[side] - before[side]) * CPU_FOR_JOBS) / jobs]),
    );
  };
}
