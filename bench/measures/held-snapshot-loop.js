// The same as held-snapshot.js without a worker: two loops over Leasehold's own store, each of which claims 100 jobs and
// completes them, and begins again. So each claim asks for exactly 100, whatever a worker would ask for. From the first
// claim until no job is left; slices are by what was confirmed as completed.

import { nowMs } from "../systems/system.js";
import { compared, ratesBetween, withSnapshot } from "./held-snapshot.js";
import { withOwn } from "./own-jobs.js";
import { inFreshPlace } from "./place.js";
import { openRows } from "./rows.js";

const BATCH = 100;
const LOOPS = 2;
const SLICE = 20_000;

/**
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {{ jobs: number }} how
 */
export async function heldSnapshotLoop(system, setting, { jobs }) {
  const drained = (/** @type {boolean} */ isHeld) =>
    inFreshPlace(setting, async (place) => {
      const rows = await openRows(system, setting, place);
      try {
        await rows.fillTo(jobs);
      } finally {
        await rows.close();
      }
      const loop = () => withOwn(system, place, loopInSlices);
      return isHeld ? withSnapshot(place.address, loop) : loop();
    });
  return compared(await drained(false), await drained(true));
}

/** @param {any} own */
async function loopInSlices({ claim, complete }) {
  const marks = [{ n: 0, atMs: nowMs() }];
  let done = 0;
  const loop = async () => {
    for (;;) {
      const fences = await claim(BATCH);
      if (fences.length === 0) return;
      await complete(fences);
      done += fences.length;
      if (done - marks[marks.length - 1].n >= SLICE) marks.push({ n: done, atMs: nowMs() });
    }
  };
  await Promise.all(Array.from({ length: LOOPS }, loop));
  return { all: (done / (nowMs() - marks[0].atMs)) * 1_000, slices: ratesBetween(marks) };
}
