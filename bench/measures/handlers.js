// Handlers that take their time: one worker process with more jobs than it can run; from a second after its first handler
// has begun for a few seconds, or until the last of the jobs has begun. What it does in that time is the sum over the
// handlers of how long each ran, counted as no longer than a handler takes; ideal is that every place is always taken. So
// the share is also less for what timers are late, which no queue can help.
//
// CPU of the process is by its own account, of the server's processes by what Linux says, both for that time.

import { inputOf } from "../systems/system.js";
import { cpuSeconds, withChildren } from "./cpu.js";
import { startLoad } from "./loads.js";
import { inFreshPlace } from "./place.js";
import { openRows } from "./rows.js";

export const FIGURES = {
  worker: "CPU of the worker, 10,000 jobs",
  server: "CPU of the server, 10,000 jobs",
  memory: "memory of the worker",
};

/** No system begins more in a second on the machines at hand. */
const MOST_A_SECOND = 60_000;
const JOBS_A_CALL = 1_000;
const WARM_UP_MS = 1_000;

/**
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {{ handlerMs: number, concurrency: number, forMs: number }} how
 * @returns {Promise<Record<string, number>>}
 */
export function handlers(system, setting, { handlerMs, concurrency, forMs }) {
  return inFreshPlace(setting, async (place) => {
    const ideal = concurrency / handlerMs;
    const jobs = Math.ceil(Math.min(ideal, MOST_A_SECOND / 1_000) * (WARM_UP_MS + forMs) + concurrency);
    await fill(system, setting, place, jobs);
    await setting.server?.checkpoint();
    const server = system.on === "redis" ? setting.redis : setting.server;
    const serverCpu = () => (server === undefined ? undefined : cpuSeconds(withChildren(server.pid)));
    const window = { afterMs: WARM_UP_MS, forMs, jobs };
    const worker = await startLoad({ system: system.name, place, concurrency, handlerMs, window });
    try {
      const began = worker.until("opened").then(serverCpu);
      const ended = worker.until("window").then((window) => [window, serverCpu()]);
      worker.go();
      const serverBefore = await began;
      const [{ tookMs, usefulMs, begun, cpuMs, peakMb }, serverAfter] = await ended;
      const a10k = (/** @type {number} */ seconds) => seconds * (10_000 / begun);
      return {
        "": (usefulMs / (tookMs * concurrency)) * 100,
        // One that has begun none, as polling ones may, tells nothing of what a job costs.
        ...(begun > 0 && { [FIGURES.worker]: a10k(cpuMs / 1_000) }),
        ...(begun > 0 &&
          serverBefore !== undefined && { [FIGURES.server]: a10k(serverAfter - serverBefore) }),
        [FIGURES.memory]: peakMb,
      };
    } finally {
      await worker.kill();
    }
  });
}

async function fill(system, setting, place, jobs) {
  if (system.row !== undefined) {
    const rows = await openRows(system, setting, place);
    await rows.fillTo(jobs);
    await rows.close();
    return;
  }
  const opened = await system.open(place);
  for (let n = 0; n < jobs; n += JOBS_A_CALL)
    await opened.addMany(Array.from({ length: Math.min(JOBS_A_CALL, jobs - n) }, (_, i) => inputOf(n + i)));
  await opened.close();
}
