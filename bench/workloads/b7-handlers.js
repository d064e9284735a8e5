// B7: handlers that take their time: whether a worker keeps its places taken, and what that costs.

import { FIGURES, handlers } from "../measures/handlers.js";
import { OURS, OURS_ON_SQLITE, ratio } from "../reading.js";
import { median } from "../statistics.js";

const ROUNDS = 3;
const FOR_MS = 4_000;

const DATABASES = /** @type {const} */ ([
  { database: "postgres", name: "servers", ours: OURS, mode: {} },
  { database: "sqlite", name: "SQLite", ours: OURS_ON_SQLITE, mode: { mode: "full" } },
]);
const HANDLER_MS = [5, 50, 500];
const CONCURRENCY = [10, 100, 1_000];
const AT_50_BY_100 = [50, 100];

/** @type {import("../cases.js").Case[]} */
export const cases = DATABASES.flatMap(({ database, mode }) =>
  HANDLER_MS.flatMap((handlerMs) =>
    CONCURRENCY.map((concurrency) => ({
      id: idOf(database, handlerMs, concurrency),
      workload: "B7",
      database,
      measure: "handlers",
      title: `handlers of ${handlerMs} ms x ${concurrency.toLocaleString("en")}`,
      unit: /** @type {const} */ ("%"),
      units: /** @type {const} */ ({ [FIGURES.worker]: "s", [FIGURES.server]: "s", [FIGURES.memory]: "MB" }),
      settings: { ...mode, handlerMs, concurrency },
      inQuick: database === "postgres" && handlerMs === AT_50_BY_100[0] && concurrency === AT_50_BY_100[1],
      rounds: ROUNDS,
      on(system, setting) {
        // One that runs one job at a time cannot have ten.
        if (!system.doors.includes("lasting") || !system.atOnce) return undefined;
        const isTarget = handlerMs === AT_50_BY_100[0] && concurrency === AT_50_BY_100[1];
        if (!system.isFastest && !isTarget) return undefined;
        // At least a few jobs for each place, or all would be ramp.
        const forMs = Math.max(FOR_MS * setting.scale, 4 * handlerMs);
        return () => handlers(system, setting, { handlerMs, concurrency, forMs });
      },
    })),
  ),
);

/** @type {import("../cases.js").Target[]} */
export const targets = DATABASES.flatMap(({ database, name, ours }) => {
  const id = idOf(database, ...AT_50_BY_100);
  const figureOf = (report, figure, system) => {
    const found = report.cases.find((one) => one.id === figure)?.figures[system];
    return found && median(found.flat());
  };
  const leastOfPeers = (report, figure) => {
    const figures = report.cases.find((one) => one.id === figure)?.figures ?? {};
    const peers = Object.entries(figures).filter(([system]) => !system.startsWith("leasehold"));
    return peers.length === 0 ? undefined : Math.min(...peers.map(([, found]) => median(found.flat())));
  };
  const againstPeers = (figure, what) => ({
    what: `${what} on ${name}, 50 ms x 100, against the least of a peer`,
    measured: (report) =>
      ratio(figureOf(report, `${id}: ${figure}`, ours), leastOfPeers(report, `${id}: ${figure}`)),
    atMost: 1,
  });
  return [
    {
      what: `share of ideal on ${name}, 50 ms x 100`,
      measured: (report) => figureOf(report, id, ours),
      atLeast: 97,
      unit: "%",
    },
    againstPeers(FIGURES.worker, "CPU of the worker"),
    againstPeers(FIGURES.memory, "memory of the worker"),
  ];
});

function idOf(database, handlerMs, concurrency) {
  return `B7 ${database} ${handlerMs} x ${concurrency}`;
}
