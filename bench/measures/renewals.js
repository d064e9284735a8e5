// Leases that are kept alive, and nothing else: a worker process runs so many handlers that never end, and its renewer does
// what it always does. From when all of them have begun and a lease has passed (half of the time, if that is less), for the
// time that is told: CPU of the worker and of all of the server's processes by what Linux says, and on PostgreSQL what its
// statistics say of the table of jobs. Its size is looked at each minute. At the end every lease must still be its owner's.

import { cpuSeconds, withChildren } from "./cpu.js";
import { withSnapshot } from "./held-snapshot.js";
import { startLoad } from "./loads.js";
import { inFreshPlace } from "./place.js";
import { watchOf } from "./renewals-watch.js";
import { openRows } from "./rows.js";

export const FIGURES = {
  worker: "CPU of the worker, of a core",
  server: "CPU of the server, of a core",
  memory: "memory of the worker",
  rate: "renewals",
  heapOnly: "renewals that touch no index",
  dead: "most dead rows",
  before: "size before",
  first: "size after the first minute",
  last: "size at the end",
  growth: "growth after the first minute",
};

const LEASE_MS = 30_000;
const MINUTE_MS = 60_000;
const ALL_BEGIN_WITHIN_MS = 120_000;

/**
 * @param {import("../systems/system.js").System} system one of Leasehold's
 * @param {import("../cases.js").Setting} setting
 * @param {{ leases: number, forMs: number, isHeld?: boolean }} how `isHeld`: another connection holds a snapshot meanwhile
 * @returns {Promise<Record<string, number>>}
 */
export function renewals(system, setting, { leases, forMs, isHeld = false }) {
  return inFreshPlace(setting, async (place) => {
    const rows = await openRows(system, setting, place);
    await rows.fillTo(leases);
    await rows.close();
    const worker = await startLoad({ system: system.name, place, concurrency: leases, handlerMs: "never" });
    const watch = await watchOf(setting, place);
    try {
      const late = new Promise((_, reject) =>
        setTimeout(
          () => reject(new Error(`not all ${leases} handlers have begun`)),
          ALL_BEGIN_WITHIN_MS,
        ).unref(),
      );
      const allBegun = worker.until("begun", ({ begun }) => begun >= leases);
      worker.go();
      await Promise.race([allBegun, late]);
      await sleep(Math.min(LEASE_MS, forMs / 2));
      const measured = () => worker.during(keptAlive(worker, setting.server?.pid, watch, leases, forMs));
      return isHeld ? await withSnapshot(place.address, measured) : await measured();
    } finally {
      await worker.kill();
      await watch.close();
    }
  });
}

/**
 * @param {Awaited<ReturnType<typeof startLoad>>} worker
 * @param {number | undefined} serverPid
 * @param {import("./renewals-watch.js").Watch} watch
 * @param {number} leases
 * @param {number} forMs
 */
async function keptAlive(worker, serverPid, watch, leases, forMs) {
  const look = async () => ({
    workerCpu: cpuSeconds([worker.pid]) ?? Number.NaN,
    serverCpu: serverPid === undefined ? undefined : cpuSeconds(withChildren(serverPid)),
    ...(await watch.look()),
  });
  const began = await look();
  const sizes = [];
  let mostDead = began.dead ?? 0;
  for (let passedMs = 0; passedMs < forMs; passedMs += MINUTE_MS) {
    await sleep(Math.min(MINUTE_MS, forMs - passedMs));
    const { mb, dead = 0 } = await watch.look();
    sizes.push(mb);
    mostDead = Math.max(mostDead, dead);
  }
  const ended = await look();
  const lost = leases - (await watch.held());
  if (lost > 0) throw new Error(`${lost} of ${leases} leases were not kept alive`);
  const ofCore = (/** @type {number} */ cpuSeconds) => (cpuSeconds / (forMs / 1_000)) * 100;
  const updates = ended.updates - began.updates;
  const [first, last] = [sizes[0], sizes[sizes.length - 1]];
  return {
    [FIGURES.worker]: ofCore(ended.workerCpu - began.workerCpu),
    ...(began.serverCpu !== undefined && { [FIGURES.server]: ofCore(ended.serverCpu - began.serverCpu) }),
    [FIGURES.memory]: await worker.peakMb(),
    ...(began.updates !== undefined && {
      [FIGURES.rate]: (updates / forMs) * 1_000,
      [FIGURES.heapOnly]: ((ended.hot - began.hot) / updates) * 100,
      [FIGURES.dead]: mostDead,
    }),
    [FIGURES.before]: began.mb,
    ...(sizes.length > 1 && { [FIGURES.first]: first, [FIGURES.growth]: (last / first - 1) * 100 }),
    [FIGURES.last]: last,
  };
}

function sleep(/** @type {number} */ ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
