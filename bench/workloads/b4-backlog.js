// B4: whether what waits, or stands in the line, makes a drain slower.

import { backlog, FIGURES } from "../measures/backlog.js";
import { spreadBacklog } from "../measures/backlog-spread.js";
import { best, OURS, OURS_ON_SQLITE } from "../reading.js";

const CONCURRENCY = 10;
/** Fewer repetitions where filling takes minutes. */
const ROUNDS = 3;
const DRAINS = 5;

const DATABASES = /** @type {const} */ ([
  { database: "postgres", name: "PostgreSQL", ours: OURS, mode: {} },
  { database: "sqlite", name: "SQLite", ours: OURS_ON_SQLITE, mode: { mode: "full" } },
]);

const PEERS = ["graphile-worker tuned", "pg-boss tuned"];

const LOADS = [
  { id: "1 M", title: "1 M waiting", peers: true, inQuick: true, how: { waiting: 1_000_000 } },
  { id: "10 M", title: "10 M waiting", rounds: 1, how: { waiting: 10_000_000 } },
  { id: "leased", title: "behind 1 M that are leased", how: { ahead: "leased" } },
  { id: "failed", title: "beside 1 M that have failed", how: { ahead: "failed" } },
  { id: "delayed", title: "beside 1 M that are delayed", how: { ahead: "delayed" } },
  { id: "waiting", title: "beside 1 M that wait for a held resource", how: { ahead: "waiting" } },
];
const SPREADS = [
  { id: "resources", title: "30 k jobs of 10,000 resources", how: { resources: 10_000 } },
  { id: "queues", title: "30 k jobs in 100 queues", how: { queues: 100 } },
];

/** @type {import("../cases.js").Case[]} */
export const cases = DATABASES.flatMap(({ database, ours, mode }) => {
  const one = ({ id, title, how, inQuick = false, rounds = ROUNDS, peers = false }, measure) => ({
    id: idOf(id, database),
    workload: "B4",
    database,
    measure: "backlog",
    title: `20 k drained, ${title}`,
    unit: /** @type {const} */ ("jobs/s"),
    units: { [FIGURES.share]: /** @type {const} */ ("%") },
    settings: { ...mode, ...how, concurrency: CONCURRENCY, drains: DRAINS },
    inQuick: inQuick && database === "postgres",
    rounds,
    on(system, setting) {
      const { scale } = setting;
      const isPeer = peers && scale === 1 && PEERS.includes(system.name);
      if (system.name !== ours && !isPeer) return undefined;
      const concurrency = system.concurrency ?? CONCURRENCY;
      return () =>
        measure(system, setting, { ...scaled(how, scale), concurrency, drains: scale < 1 ? 1 : DRAINS });
    },
  });
  return [...LOADS.map((load) => one(load, backlog)), ...SPREADS.map((spread) => one(spread, spreadBacklog))];
});

/** @type {import("../cases.js").Target[]} */
export const targets = DATABASES.flatMap(({ database, name, ours }) =>
  LOADS.map(({ id, title }) => ({
    what: `20 k drained on ${name}, ${title}, of the rate with 30 k waiting`,
    measured: (report) => best(report, [`${idOf(id, database)}: ${FIGURES.share}`], [ours]),
    atLeast: 95,
    unit: "%",
  })),
);

function idOf(id, database) {
  return `B4 ${database} ${id}`;
}

function scaled(how, scale) {
  return "waiting" in how ? { ...how, waiting: how.waiting * scale } : how;
}
