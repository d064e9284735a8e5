// How fast 20,000 jobs are drained from a line with many more: by a worker process that is warm, from the beginning of its
// 5,000th handler to that of its 25,000th. Then it is asked to stop, and the database is asked whether so many have ended.
// Each drain has a worker process of its own; before the next one the line is as long as before.
//
// First with 30,000 waiting and nothing else there; then, in the same place, with what is asked for. So both have the same
// tables, files and minute.

import { median } from "../statistics.js";
import { aheadOf } from "./backlog-ahead.js";
import { startLoad } from "./loads.js";
import { inFreshPlace } from "./place.js";
import { openRows } from "./rows.js";

export const FEW = 30_000;
/** A new process spends its first half second on its own code, and claims little at a time. */
export const WARM_UP = 5_000;

export const FIGURES = {
  free: "30 k waiting, nothing else",
  loaded: "so loaded",
  share: "of the free rate",
};

/**
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {{ waiting?: number, ahead?: import("./backlog-ahead.js").Ahead, rowsAhead?: number, concurrency: number,
 *   jobs?: number, drains?: number }} how
 * @returns {Promise<Record<string, number>>} jobs a second, medians of the drains
 */
export function backlog(system, setting, how) {
  const { waiting = FEW, ahead, rowsAhead = 1_000_000, jobs = 20_000, drains = 5 } = how;
  return inFreshPlace(setting, async (place) => {
    const rows = await openRows(system, setting, place);
    try {
      const drainedOften = async (/** @type {number} */ length) => {
        const rates = [];
        for (let n = 0; n < drains; n++) {
          await rows.fillTo(length);
          rates.push(await drainSome(system, setting, place, rows, { ...how, jobs }));
        }
        return median(rates);
      };
      const free = await drainedOften(FEW);
      if (ahead !== undefined) await aheadOf(ahead, system, place, rows, rowsAhead);
      const loaded = await drainedOften(waiting);
      return { [FIGURES.free]: free, [FIGURES.loaded]: loaded, [FIGURES.share]: (loaded / free) * 100 };
    } finally {
      await rows.close();
    }
  });
}

/**
 * Jobs a second.
 *
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {import("../systems/system.js").Place} place
 * @param {Pick<import("./rows.js").Rows, "left">} rows
 * @param {{ jobs: number, concurrency: number, queues?: readonly string[] }} how
 */
export async function drainSome(system, setting, place, rows, { jobs, concurrency, queues }) {
  const before = await rows.left();
  await setting.server?.checkpoint();
  /** @type {{ n: number, atMs: number }[]} */
  const marks = [];
  const load = { system: system.name, place, concurrency, queues, markEvery: WARM_UP };
  const worker = await startLoad(load, (news) => news.kind === "mark" && marks.push(news));
  try {
    const enough = worker.until("mark", ({ n }) => n >= WARM_UP + jobs);
    worker.go();
    await enough;
  } finally {
    await worker.stop();
  }
  const left = await rows.left();
  if (left !== undefined && before - left < WARM_UP + jobs)
    throw new Error(
      `${system.name} has begun ${WARM_UP + jobs} jobs, of which only ${before - left} have ended`,
    );
  const [began, ended] = [WARM_UP, WARM_UP + jobs].map((n) => marks.find((mark) => mark.n === n).atMs);
  return (jobs / (ended - began)) * 1_000;
}
