// Jobs that are all there, drained by one worker process: from the beginning of its first handler to that of its last; and
// the same while another connection keeps open a REPEATABLE READ transaction that has looked at the database before. The
// last completions follow within milliseconds: that the database knows of none that is left is asked behind it, since under
// the snapshot the question itself takes as long as thousands of jobs.

import pg from "pg";
import { median } from "../statistics.js";
import { startLoad } from "./loads.js";
import { inFreshPlace } from "./place.js";
import { openRows } from "./rows.js";

export const FIGURES = {
  free: "no snapshot",
  held: "snapshot held",
  share: "held, of the free rate",
  freeLast: "no snapshot, last slices of the first",
  heldFirst: "held, first slices",
  heldWorst: "held, worst slices",
  heldLast: "held, last slices",
  last: "held, last slices of the first",
};

const SLICE = 20_000;
const LOOK_EVERY_MS = 50;
/** So late at the latest must the last completions be there. */
const ENDED_WITHIN_MS = 10_000;
/** A single slice takes a fraction of a second: at the two ends, and at the worst, as many are taken together. */
const TOGETHER = 5;

/**
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 * @param {{ jobs: number, concurrency: number }} how
 */
export async function heldSnapshot(system, setting, { jobs, concurrency }) {
  const drained = (/** @type {boolean} */ isHeld) =>
    inFreshPlace(setting, async (place) => {
      const rows = await openRows(system, setting, place);
      try {
        await rows.fillTo(jobs);
        const during = () => drainInSlices(system, place, rows, concurrency);
        return isHeld ? await withSnapshot(place.address, during) : await during();
      } finally {
        await rows.close();
      }
    });
  return compared(await drained(false), await drained(true));
}

/** @template T @param {string} address @param {() => Promise<T>} fn */
export async function withSnapshot(address, fn) {
  const client = new pg.Client({ connectionString: address });
  client.on("error", () => {});
  await client.connect();
  try {
    await client.query("begin isolation level repeatable read");
    await client.query("select count(*) from pg_class"); // the snapshot is taken by the first statement
    return await fn();
  } finally {
    await client.end();
  }
}

/** @param {{ all: number, slices: number[] }} free @param {{ all: number, slices: number[] }} held */
export function compared(free, held) {
  const groups = (/** @type {number[]} */ slices) =>
    slices
      .map((_, n) => slices.slice(n, n + TOGETHER))
      .filter(({ length }) => length === Math.min(TOGETHER, slices.length));
  const ends = (/** @type {number[]} */ slices) => {
    const rates = groups(slices).map((group) => median(group));
    return { first: rates[0], last: rates.at(-1) ?? rates[0], worst: Math.min(...rates) };
  };
  const [freely, heldEnds] = [ends(free.slices), ends(held.slices)];
  return {
    [FIGURES.free]: free.all,
    [FIGURES.held]: held.all,
    [FIGURES.share]: (held.all / free.all) * 100,
    [FIGURES.freeLast]: (freely.last / freely.first) * 100,
    [FIGURES.heldFirst]: heldEnds.first,
    [FIGURES.heldWorst]: heldEnds.worst,
    [FIGURES.heldLast]: heldEnds.last,
    [FIGURES.last]: (heldEnds.last / heldEnds.first) * 100,
  };
}

/** @param {readonly { n: number, atMs: number }[]} marks at the first job and at each end of a slice */
export function ratesBetween(marks) {
  return marks.slice(1).map(({ n, atMs }, i) => ((n - marks[i].n) / (atMs - marks[i].atMs)) * 1_000);
}

/**
 * @param {import("../systems/system.js").System} system
 * @param {import("../systems/system.js").Place} place
 * @param {Pick<import("./rows.js").Rows, "left">} rows how many are left is a multiple of a slice
 * @param {number} concurrency
 */
async function drainInSlices(system, place, rows, concurrency) {
  const jobs = /** @type {number} */ (await rows.left());
  /** @type {{ n: number, atMs: number }[]} */
  const marks = [];
  const load = { system: system.name, place, concurrency, markEvery: SLICE };
  const worker = await startLoad(load, (news) => news.kind === "mark" && marks.push(news));
  try {
    const allBegun = worker.until("mark", ({ n }) => n >= jobs);
    worker.go();
    await allBegun;
    const [first, last] = [marks[0], marks[marks.length - 1]];
    for (let waitedMs = 0; (await worker.during(rows.left())) > 0; waitedMs += LOOK_EVERY_MS) {
      if (waitedMs > ENDED_WITHIN_MS) throw new Error(`${system.name} has left jobs that it had begun`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    return { all: ((last.n - first.n) / (last.atMs - first.atMs)) * 1_000, slices: ratesBetween(marks) };
  } finally {
    await worker.kill();
  }
}
