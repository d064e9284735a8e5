// B2: no-op jobs that are all there at the beginning, on servers. SQLite's part is in B9.

import { drain } from "../measures/drain.js";
import { BULLMQ_ON_REDIS, best, OURS, OURS_THIN, ratio } from "../reading.js";

/** What Leasehold's workers do unless told otherwise. */
const DEFAULT_CONCURRENCY = 10;

const HOW = [
  { processes: 1, concurrency: 10, cpu: true },
  { processes: 1, concurrency: 50 },
  { processes: 1, concurrency: 100, cpu: true },
  { processes: 2, concurrency: 10 },
  { processes: 2, concurrency: 50 },
  { processes: 2, concurrency: 100 },
];

/** @type {import("../cases.js").Case[]} */
export const cases = [...HOW.map((how) => one(how)), one({ processes: 1, concurrency: 10, results: true })];

/** @type {import("../cases.js").Target[]} */
export const targets = [
  ...[1, 2].flatMap((processes) => [
    ...against(processes, "history kept", OURS, [2, 3, 5]),
    ...against(processes, "thin history", OURS_THIN, [2.5, 4, 6]),
  ]),
  {
    what: "1 process, defaults on both sides, against graphile-worker",
    measured: (report) =>
      ratio(best(report, [idOf(1, 10)], [OURS]), best(report, [idOf(1, 10)], ["graphile-worker"])),
    atLeast: 20,
  },
];

/** Ours with its defaults, each peer with the concurrency under which it drained fastest. */
function against(processes, history, ours, [graphile, boss, bullmq]) {
  const all = HOW.filter((how) => how.processes === processes).map((how) => idOf(processes, how.concurrency));
  const target = (name, peers, atLeast) => ({
    what: `${processes} ${processes === 1 ? "process" : "processes"}, ${history}, against ${name}`,
    measured: (report) =>
      ratio(best(report, [idOf(processes, DEFAULT_CONCURRENCY)], [ours]), best(report, all, peers)),
    atLeast,
  });
  return [
    target("graphile-worker at its best", ["graphile-worker", "graphile-worker tuned"], graphile),
    target("pg-boss tuned", ["pg-boss tuned"], boss),
    target("BullMQ on Redis at its best", BULLMQ_ON_REDIS, bullmq),
  ];
}

function idOf(processes, concurrency, results = false) {
  return `B2 drain ${processes} x ${concurrency}${results ? " results" : ""}`;
}

/** @returns {import("../cases.js").Case} */
function one({ processes, concurrency, results = false, cpu = false }) {
  return {
    id: idOf(processes, concurrency, results),
    workload: "B2",
    database: "postgres",
    measure: "drain",
    title: `drain, ${processes} ${processes === 1 ? "process" : "processes"} x ${concurrency}${results ? ", with results" : ""}`,
    unit: "jobs/s",
    units: { "CPU of workers, 10,000 jobs": "s", "CPU of the server, 10,000 jobs": "s" },
    settings: { processes, concurrency, results },
    inQuick: processes === 1 && concurrency === DEFAULT_CONCURRENCY && !results,
    on(system, setting) {
      if (!system.takesPart.includes("drain")) return undefined;
      if (results && !system.doors.includes("results")) return undefined;
      // One that chooses by itself, or is not its kind's fastest, is measured once, beside everybody's default.
      const isOneForAll = system.concurrency !== undefined || !system.isFastest;
      if (isOneForAll && concurrency !== DEFAULT_CONCURRENCY) return undefined;
      return () => drain(system, setting, { processes, concurrency, results, cpu });
    },
  };
}
