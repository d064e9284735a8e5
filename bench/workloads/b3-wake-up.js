// B3: from the call that enqueues a job until its handler begins, with workers that have nothing to do. On servers; SQLite's
// part is in B9.

import { claimsPerJob } from "../measures/claims.js";
import { wakeUp } from "../measures/wake-up.js";
import { BARE, BULLMQ_ON_REDIS, lowest, OURS, ratio } from "../reading.js";

const CLAIMS = "B3 claims 50";

const ARRANGEMENTS = [
  { id: "same", title: "same process", where: "same", workers: 1, processes: 0 },
  { id: "other", title: "other process", where: "other", workers: 1, processes: 1 },
  { id: "other 10", title: "10 idle workers in 2 processes", where: "other", workers: 10, processes: 2 },
  { id: "other 50", title: "50 idle workers in 5 processes", where: "other", workers: 50, processes: 5 },
];

/** @type {import("../cases.js").Case[]} */
export const cases = [
  ...ARRANGEMENTS.map(({ id, title, ...how }) => ({
    id: `B3 wake-up ${id}`,
    workload: "B3",
    database: /** @type {const} */ ("postgres"),
    measure: "wake-up",
    title: `wake-up, ${title}`,
    unit: /** @type {const} */ ("ms"),
    settings: how,
    inQuick: how.workers === 1,
    on: (system, setting) => {
      if (!system.takesPart.includes("wake-up")) return undefined;
      // One that polls each second or two takes long, and takes the same in every arrangement.
      if (system.pollMs >= 1_000 && (how.where !== "same" || setting.scale < 1)) return undefined;
      // Without a queue there is nobody to choose among many.
      if (system.name === BARE && how.workers > 1) return undefined;
      return () => wakeUp(system, setting, how);
    },
  })),
  {
    id: CLAIMS,
    workload: "B3",
    database: "postgres",
    measure: "claims",
    title: "claims a job, 50 idle workers in 5 processes",
    unit: "x",
    settings: { workers: 50, processes: 5 },
    inQuick: false,
    on: (system, setting) =>
      system.doors.includes("seen")
        ? () => claimsPerJob(system, setting, { workers: 50, processes: 5 })
        : undefined,
  },
];

/** @type {import("../cases.js").Target[]} */
export const targets = [
  ...ARRANGEMENTS.flatMap(({ id, title }) => [
    {
      what: `p50, ${title}, against BullMQ on Redis`,
      measured: (report) =>
        ratio(
          lowest(report, `B3 wake-up ${id}`, [OURS], 0.5),
          lowest(report, `B3 wake-up ${id}`, BULLMQ_ON_REDIS, 0.5),
        ),
      atMost: 1,
    },
    {
      what: `p99, ${title}`,
      measured: (report) => lowest(report, `B3 wake-up ${id}`, [OURS], 0.99),
      atMost: 6,
      unit: "ms",
    },
  ]),
  {
    what: "claims a job, 50 idle workers",
    measured: (report) => lowest(report, CLAIMS, [OURS], 0.5),
    atMost: 2,
    unit: "claims",
  },
];
