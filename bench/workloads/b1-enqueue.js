// B1: how fast jobs go in, on servers. SQLite's part is in B9.

import { bulk, inCallersTransaction, inFlight } from "../measures/enqueue.js";
import { BULLMQ_ON_REDIS, best, OURS, POSTGRES_PEERS, ratio } from "../reading.js";

/** @type {import("../cases.js").Case[]} */
export const cases = [
  one("one by one", true, (system, setting) => () => inFlight(system, setting, { callers: 1 })),
  one("32 in flight", true, (system, setting) => () => inFlight(system, setting, { callers: 32 })),
  one("256 in flight", false, (system, setting) => () => inFlight(system, setting, { callers: 256 })),
  one("1,000 a call", true, (system, setting) =>
    system.doors.includes("bulk") ? () => bulk(system, setting) : undefined,
  ),
  one("in the caller's transaction", false, (system, setting) =>
    system.doors.includes("tx") ? () => inCallersTransaction(system, setting) : undefined,
  ),
];

/** @type {import("../cases.js").Target[]} */
export const targets = [
  {
    what: "32 in flight, against BullMQ on Redis",
    measured: (report) => against(report, "32 in flight", BULLMQ_ON_REDIS),
    atLeast: 1.3,
  },
  {
    what: "32 in flight, against the quickest peer on PostgreSQL",
    measured: (report) => against(report, "32 in flight", POSTGRES_PEERS),
    atLeast: 10,
  },
  {
    what: "1,000 a call, against graphile-worker",
    measured: (report) => against(report, "1,000 a call", ["graphile-worker"]),
    atLeast: 2,
  },
  {
    what: "one by one, against the quickest peer on PostgreSQL",
    measured: (report) => against(report, "one by one", POSTGRES_PEERS),
    atLeast: 2,
  },
];

/** @returns {import("../cases.js").Case} */
function one(how, inQuick, on) {
  return {
    id: `B1 enqueue ${how}`,
    workload: "B1",
    database: "postgres",
    measure: "enqueue",
    title: `enqueue, ${how}`,
    unit: "jobs/s",
    settings: {},
    inQuick,
    on: (system, setting) => (system.takesPart.includes("enqueue") ? on(system, setting) : undefined),
  };
}

function against(report, how, peers) {
  const id = `B1 enqueue ${how}`;
  return ratio(best(report, [id], [OURS]), best(report, [id], peers));
}
