// B10: what a guard adds to a write.

import { guardedFile } from "../measures/destinations/file.js";
import { guardedOverHttp } from "../measures/destinations/http.js";
import { guardedOnPostgres } from "../measures/destinations/postgres.js";
import { guardedOnRedis } from "../measures/destinations/redis.js";
import { guardedOnSqlite } from "../measures/destinations/sqlite.js";
import { ofPlain } from "../measures/destinations/ways.js";
import { best } from "../reading.js";

const FOR_MS = 1_000;
const ALONE = 1;
const MANY = 16;

/** Each kit beside what it guards; `ways` are those of which the target speaks. */
const KITS = /** @type {const} */ ([
  {
    id: "postgres",
    database: "postgres",
    system: "leasehold on PostgreSQL",
    title: "PostgreSQL, a row updated in a transaction",
    inFlight: [ALONE, MANY],
    measure: guardedOnPostgres,
    ways: ["known line", "new line", "new line, step"],
  },
  {
    id: "sqlite",
    database: "sqlite",
    system: "leasehold on SQLite",
    title: "SQLite, a row updated in a transaction",
    inFlight: [ALONE, MANY],
    mode: { mode: "full" },
    measure: guardedOnSqlite,
    ways: ["known line", "new line", "new line, step"],
  },
  {
    id: "redis",
    database: "redis",
    system: "leasehold",
    title: "Redis, a number raised",
    inFlight: [ALONE, MANY],
    measure: guardedOnRedis,
    ways: ["known line", "new line", "new line, step"],
  },
  {
    id: "file",
    database: "none",
    system: "leasehold",
    title: "a file of 1 kB replaced",
    inFlight: [ALONE],
    measure: guardedFile,
    ways: [],
  },
  {
    id: "http",
    database: "none",
    system: "leasehold",
    title: "HTTP, a row of the service's SQLite file updated",
    inFlight: [ALONE, MANY],
    measure: guardedOverHttp,
    ways: [],
  },
]);

const WAYS = ["in a script", "guarded", "known line", "new line", "new line, step"];

/** @type {import("../cases.js").Case[]} */
export const cases = KITS.flatMap(({ id, database, system: name, title, inFlight, measure, ...rest }) =>
  inFlight.map((callers) => ({
    id: idOf(id, callers),
    workload: "B10",
    database,
    measure: "guarded-writes",
    title: `${title}, ${callers === ALONE ? "one by one" : `${callers} in flight`}`,
    unit: /** @type {const} */ ("writes/s"),
    units: Object.fromEntries(WAYS.map((way) => [ofPlain(way), /** @type {const} */ ("%")])),
    settings: { ...("mode" in rest && rest.mode), inFlight: callers },
    inQuick: callers === ALONE && id !== "file",
    rounds: 1, // which is five in turns, of all ways, and one more to warm up
    on: (system, setting) =>
      system.name === name
        ? () => measure(setting, { inFlight: callers, forMs: FOR_MS * Math.max(setting.scale, 0.1) })
        : undefined,
  })),
);

/** @type {import("../cases.js").Target[]} */
export const targets = KITS.flatMap(({ id, system, title, inFlight, ways }) =>
  ways.flatMap((way) =>
    inFlight.map((callers) => ({
      what: `${title}, ${way}, ${callers === ALONE ? "one by one" : `${callers} in flight`}, of unguarded`,
      measured: (report) => best(report, [`${idOf(id, callers)}: ${ofPlain(way)}`], [system]),
      atLeast: 80,
      unit: "%",
    })),
  ),
);

function idOf(id, callers) {
  return `B10 ${id} ${callers}`;
}
