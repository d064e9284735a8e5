// As backlog.js, with 30,000 jobs that are spread over many resources, of which each runs one job at a time, or over many
// queues, all of which the worker asks; and beside them 30,000 that are alike, in a place of their own.

import { median } from "../statistics.js";
import { drainSome, FEW, FIGURES, WARM_UP } from "./backlog.js";
import { withOwn } from "./own-jobs.js";
import { inFreshPlace } from "./place.js";
import { openRows } from "./rows.js";

/** A worker has begun some more before it hears that it is to stop. */
const BEYOND = 1_000;

/**
 * @param {import("../systems/system.js").System} system one of Leasehold's
 * @param {import("../cases.js").Setting} setting
 * @param {{ resources?: number, queues?: number, concurrency: number, jobs?: number, drains?: number }} how
 * @returns {Promise<Record<string, number>>} jobs a second, medians of the drains
 */
export async function spreadBacklog(system, setting, how) {
  const { resources, queues, concurrency, jobs = 20_000, drains = 5 } = how;
  const names = queues === undefined ? undefined : Array.from({ length: queues }, (_, n) => `queue-${n}`);
  const optionsOf = (/** @type {number} */ n) => ({
    ...(resources !== undefined && { resource: `account:${n % resources}` }),
    ...(names !== undefined && { queue: names[n % names.length] }),
  });
  /** @param {typeof optionsOf} [spread] @param {string[]} [asked] */
  const drained = (spread, asked) =>
    inFreshPlace(setting, async (place) => {
      const rates = [];
      for (let n = 0; n < drains; n++) {
        const count = n === 0 ? FEW : WARM_UP + jobs + BEYOND;
        await withOwn(system, place, ({ enqueueMany }) => enqueueMany(count, spread));
        const rows = await openRows(system, setting, place, { isEmpty: false });
        try {
          await rows.rest();
          rates.push(await drainSome(system, setting, place, rows, { jobs, concurrency, queues: asked }));
        } finally {
          await rows.close();
        }
      }
      return median(rates);
    });
  const alike = await drained();
  const spread = await drained(optionsOf, names);
  return { [FIGURES.free]: alike, [FIGURES.loaded]: spread, [FIGURES.share]: (spread / alike) * 100 };
}
