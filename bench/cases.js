// What is measured: one file of workloads/ for each, gathered here.

import * as enqueue from "./workloads/b1-enqueue.js";
import * as drain from "./workloads/b2-drain.js";
import * as wakeUp from "./workloads/b3-wake-up.js";
import * as backlog from "./workloads/b4-backlog.js";
import * as snapshot from "./workloads/b5-held-snapshot.js";
import * as renewals from "./workloads/b6-renewals.js";
import * as handlers from "./workloads/b7-handlers.js";
import * as recovery from "./workloads/b8-recovery.js";
import * as sqlite from "./workloads/b9-sqlite.js";
import * as destinations from "./workloads/b10-destinations.js";
import * as startUp from "./workloads/b11-start-up.js";

/**
 * @typedef {object} Setting where and how much is measured
 * @property {"sqlite" | "postgres" | "redis" | "none"} database the case's
 * @property {string} mode SQLite's `synchronous`: `full` or `normal`; elsewhere `default`
 * @property {number} scale 1, or the share of the jobs that a quick run makes do with
 * @property {import("./measures/server.js").Server} [server] the run's PostgreSQL, where the database is that
 * @property {import("./measures/redis.js").RedisServer} [redis] the run's Redis, where there is one
 *
 * @typedef {"jobs/s" | "renewals/s" | "writes/s" | "ms" | "MB" | "s" | "x" | "%" | "rows"} Unit
 *
 * @typedef {object} Case
 * @property {string} id begins with its workload
 * @property {string} workload `B1` to `B11`
 * @property {Setting["database"]} database whose systems are asked
 * @property {string} measure in a word: `drain`, `enqueue`, `wake-up` …
 * @property {string} title
 * @property {Unit} unit
 * @property {Record<string, Unit>} [units] of named figures that have another one
 * @property {Record<string, unknown>} settings told with the figures; `mode` chooses SQLite's
 * @property {boolean} inQuick
 * @property {number} [rounds] at most so many, for one that takes long
 * @property {(system: import("./systems/system.js").System, setting: Setting) => (() => Promise<Measured>) | undefined} on
 *   a function that measures once, or undefined where the system has no such thing
 *
 * @typedef {number | number[] | Record<string, number>} Measured a rate; samples; or figures by name, each of which
 *   becomes a row of its own, the one named "" that of the case
 *
 * @typedef {object} Target
 * @property {string} what
 * @property {(report: import("./report.js").Report) => number | undefined} measured undefined: the run does not tell
 * @property {number} [atLeast] either this
 * @property {number} [atMost] or this
 * @property {string} [unit] of what is measured; a ratio where none is given
 */

/** @type {{ cases: Case[], targets?: Target[] }[]} */
const workloads = [
  enqueue,
  drain,
  wakeUp,
  backlog,
  snapshot,
  renewals,
  handlers,
  recovery,
  sqlite,
  destinations,
  startUp,
];

export const cases = workloads.flatMap((workload) => workload.cases);

/** @type {(Target & { workload: string })[]} */
export const targets = workloads.flatMap(({ cases: [first], targets: wanted = [] }) =>
  wanted.map((target) => ({ ...target, workload: first?.workload ?? "" })),
);
