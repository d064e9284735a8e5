// What targets, and the README, read out of a report.

import { median, quantile } from "./statistics.js";

export const OURS = "leasehold on PostgreSQL";
export const OURS_THIN = "leasehold on PostgreSQL, thin history";
export const OURS_ON_SQLITE = "leasehold on SQLite";
export const BULLMQ_ON_REDIS = ["bullmq on Redis", "bullmq on Redis tuned"];
export const BARE = "bare PostgreSQL";
export const POSTGRES_PEERS = ["graphile-worker", "pg-boss", "bullmq on PostgreSQL", "sidequest"];

/**
 * The highest median that any of these systems has in any of these cases.
 *
 * @param {import("./report.js").Report} report
 * @param {string[]} ids
 * @param {string[]} systems
 */
export function best(report, ids, systems) {
  const medians = figuresOf(report, ids, systems).map((rounds) => median(rounds.flat()));
  return medians.length === 0 ? undefined : Math.max(...medians);
}

/**
 * The lowest quantile, over the samples of all rounds, that any of these systems has in this case.
 *
 * @param {import("./report.js").Report} report
 * @param {string} id
 * @param {string[]} systems
 * @param {number} share
 */
export function lowest(report, id, systems, share) {
  const found = figuresOf(report, [id], systems).map((rounds) => quantile(rounds.flat(), share));
  return found.length === 0 ? undefined : Math.min(...found);
}

/** @param {number | undefined} ours @param {number | undefined} theirs */
export function ratio(ours, theirs) {
  return ours === undefined || theirs === undefined ? undefined : ours / theirs;
}

/** @param {import("./report.js").Report} report @param {string[]} ids @param {string[]} systems */
function figuresOf({ cases }, ids, systems) {
  return cases
    .filter(({ id }) => ids.includes(id))
    .flatMap(({ figures }) => systems.flatMap((system) => (figures[system] ? [figures[system]] : [])));
}
