// B8: how soon the jobs of a killed process run again.

import { recovery } from "../measures/recovery.js";
import { lowest, OURS, OURS_ON_SQLITE } from "../reading.js";

/** An idle worker polls after 50 ms at first, and no more often than each 2 s in the end. */
const POLL_MS = 2_000;
const DATABASES = /** @type {const} */ ([
  { database: "postgres", name: "PostgreSQL", ours: OURS, mode: {}, sweepMs: 200 },
  { database: "sqlite", name: "SQLite", ours: OURS_ON_SQLITE, mode: { mode: "full" }, sweepMs: 250 },
]);
const SURVIVORS = /** @type {const} */ (["idle", "busy"]);
const ALLOWED_MS = 250;

/** @type {import("../cases.js").Case[]} */
export const cases = DATABASES.flatMap(({ database, ours, mode, sweepMs }) =>
  SURVIVORS.map((survivor) => ({
    id: idOf(database, survivor),
    workload: "B8",
    database,
    measure: "recovery",
    title: `100 jobs of a killed process, the other one ${survivor}: claimed again after their leases lapsed`,
    unit: /** @type {const} */ ("ms"),
    settings: { ...mode, pollMs: `50, doubled to ${POLL_MS}`, sweepMs, leaseMs: 5_000, concurrency: 100 },
    inQuick: database === "postgres" && survivor === "idle",
    on: (system, setting) =>
      system.name === ours ? () => recovery(system, setting, { survivor }) : undefined,
  })),
);

/** @type {import("../cases.js").Target[]} */
export const targets = DATABASES.flatMap(({ database, name, ours, sweepMs }) =>
  SURVIVORS.map((survivor) => ({
    what: `p99 of claims of what has lapsed on ${name}, ${survivor} worker`,
    measured: (report) => lowest(report, idOf(database, survivor), [ours], 0.99),
    atMost: POLL_MS + sweepMs + ALLOWED_MS,
    unit: "ms",
  })),
);

function idOf(database, survivor) {
  return `B8 ${database} ${survivor}`;
}
