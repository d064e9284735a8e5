// A million rows of another kind, in front of those that wait where their kind stands in the line at all. The product makes
// the first one by doing to a job what the name says; the database copies it.

import { withOwn } from "./own-jobs.js";

const HOUR_MS = 3_600_000;
/** A lower number comes first. */
const IN_FRONT = { priority: -1 };

/**
 * `leased`: held by somebody whose leases go on, as handlers that are stuck or long. `failed`: ended, without attempts left.
 * `delayed`: due tomorrow. `waiting`: for a resource that another job holds.
 *
 * @typedef {"leased" | "failed" | "delayed" | "waiting"} Ahead
 */

/** @type {Record<Ahead, (own: any) => Promise<string>>} */
const MAKE = {
  async leased({ enqueue, claim }) {
    const { jobId } = await enqueue({ ...IN_FRONT, leaseMs: HOUR_MS });
    await claim(1);
    return jobId;
  },
  async failed({ enqueue, claim, fail }) {
    const { jobId } = await enqueue(IN_FRONT);
    await fail(await claim(1));
    return jobId;
  },
  delayed: async ({ enqueue }) => (await enqueue({ delayMs: 24 * HOUR_MS })).jobId,
  async waiting({ enqueue, claim }) {
    const held = { ...IN_FRONT, leaseMs: HOUR_MS, resource: "held" };
    await enqueue(held);
    await claim(1);
    return (await enqueue(held)).jobId;
  },
};

/**
 * @param {Ahead} kind
 * @param {import("../systems/system.js").System} system one of Leasehold's
 * @param {import("../systems/system.js").Place} place
 * @param {Pick<import("./rows.js").Rows, "keep" | "copy" | "rest">} rows
 * @param {number} count
 */
export async function aheadOf(kind, system, place, rows, count) {
  const jobId = await withOwn(system, place, MAKE[kind]);
  const { table, history, given } = /** @type {NonNullable<typeof system.row>} */ (system.row);
  const stands = kind === "failed" && history !== undefined ? history : { table, given };
  await rows.keep(kind, stands.table, `job_id = '${jobId}'`);
  const spread = kind === "delayed" ? { run_at: "s.run_at + g.n" } : {};
  // Ids of the waiting ones count from 1 up.
  await rows.copy(kind, stands.table, count, { ...stands.given, ...spread }, 1_000_000_000);
  await rows.rest(stands.table);
}
