// B6: what it costs to keep leases alive, and what it leaves behind.

import { renewalLoop } from "../measures/renewal-loop.js";
import { FIGURES, renewals } from "../measures/renewals.js";
import { best, OURS, OURS_ON_SQLITE } from "../reading.js";

const MINUTE_MS = 60_000;
const FOR_MS = 10 * MINUTE_MS;
/** For a glance: too short for what is told of minutes. */
const QUICK_MS = 10_000;

const DATABASES = /** @type {const} */ ([
  { database: "postgres", name: "PostgreSQL", ours: OURS, mode: {}, calls: 4 },
  { database: "sqlite", name: "SQLite", ours: OURS_ON_SQLITE, mode: { mode: "full" }, calls: 1 },
]);

const UNITS = /** @type {const} */ ({
  [FIGURES.memory]: "MB",
  [FIGURES.rate]: "renewals/s",
  [FIGURES.dead]: "rows",
  [FIGURES.before]: "MB",
  [FIGURES.first]: "MB",
  [FIGURES.last]: "MB",
});

/** @type {import("../cases.js").Case[]} */
export const cases = DATABASES.flatMap(({ database, ours, mode, calls }) => {
  const kept = (leases, { isHeld = false, inQuick = false } = {}) => ({
    id: idOf(database, leases, isHeld),
    workload: "B6",
    database,
    measure: "renewals",
    title: `${leases.toLocaleString("en")} leases kept alive${isHeld ? ", snapshot held" : ""}`,
    unit: /** @type {const} */ ("%"),
    units: UNITS,
    settings: { ...mode, leases, leaseMs: 30_000, forMs: FOR_MS, isHeld },
    inQuick,
    rounds: 1,
    on(system, setting) {
      if (system.name !== ours) return undefined;
      return () =>
        renewals(system, setting, { leases, isHeld, forMs: setting.scale < 1 ? QUICK_MS : FOR_MS });
    },
  });
  const loop = {
    id: `B6 ${database} loop`,
    workload: "B6",
    database,
    measure: "renewal-loop",
    title: "renewals in a loop, 500 a call",
    unit: /** @type {const} */ ("renewals/s"),
    settings: { ...mode, leases: 10_000, calls },
    inQuick: true,
    on: (system, setting) =>
      system.name === ours
        ? () => renewalLoop(system, setting, { leases: 10_000, calls, forMs: 5_000 * setting.scale })
        : undefined,
  };
  const onPostgres = database === "postgres";
  return [
    loop,
    kept(1_000, { inQuick: onPostgres }),
    kept(10_000),
    kept(100_000),
    ...(onPostgres ? [kept(10_000, { isHeld: true })] : []),
  ];
});

/** @type {import("../cases.js").Target[]} */
export const targets = DATABASES.flatMap(({ database, name, ours }) => {
  const of100k = (figure) => (report) => best(report, [`${idOf(database, 100_000)}: ${figure}`], [ours]);
  const onServer = database === "postgres";
  return [
    {
      what: `renewals in a loop on ${name}`,
      measured: (report) => best(report, [`B6 ${database} loop`], [ours]),
      atLeast: 100_000,
      unit: "a second",
    },
    {
      what: `100 k leases on ${name}, CPU of the worker`,
      measured: of100k(FIGURES.worker),
      atMost: 10,
      unit: "%",
    },
    ...(onServer
      ? [
          {
            what: `100 k leases on ${name}, CPU of the server`,
            measured: of100k(FIGURES.server),
            atMost: 10,
            unit: "%",
          },
        ]
      : []),
    {
      what: `100 k leases on ${name}, growth of the table after the first minute`,
      measured: of100k(FIGURES.growth),
      atMost: 1,
      unit: "%",
    },
  ];
});

function idOf(database, leases, isHeld = false) {
  return `B6 ${database} ${leases}${isHeld ? " held" : ""}`;
}
