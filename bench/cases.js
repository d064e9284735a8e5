// What is measured. A case gives, for each system on its database, a function that measures it once, or undefined where
// the system has no such thing.

import { drain } from "./measures/drain.js";
import { bulk, oneByOne, thirtyTwoInFlight } from "./measures/enqueue.js";
import { wakeUp } from "./measures/wake-up.js";

/** How many handlers a worker may run at once in the batch drains, unless its system drains faster with fewer. */
const CONCURRENCY = 100;

/**
 * @typedef {object} Setting
 * @property {"sqlite" | "postgres"} database
 * @property {string} mode
 * @property {import("./measures/server.js").Server} [server] for PostgreSQL
 *
 * @typedef {object} Case
 * @property {string} id
 * @property {"sqlite" | "postgres"} database
 * @property {string} mode
 * @property {"drain" | "enqueue" | "wake-up"} measure
 * @property {string} title
 * @property {"jobs/s" | "ms"} unit
 * @property {Record<string, unknown>} settings
 * @property {(system: import("./systems/system.js").System, setting: Setting) =>
 *   (() => Promise<number | number[]>) | undefined} on
 */

const MODES = [
  { database: "sqlite", mode: "full" },
  { database: "sqlite", mode: "normal" },
  { database: "postgres", mode: "default" },
];

/** @type {Case[]} */
export const cases = MODES.flatMap((where) =>
  [...wakeUps(where), ...enqueues(where), ...drains(where)].map((one) => ({
    ...one,
    ...where,
    id: `${one.id} ${where.database} ${where.mode}`,
    settings: { ...where, ...one.settings },
  })),
);

function wakeUps({ database }) {
  const polls = database === "sqlite" ? [undefined, 10] : [undefined];
  return ["same", "other"].flatMap((process) =>
    polls.map((pollMs) => ({
      id: `wake-up ${process}${pollMs === undefined ? "" : ` poll ${pollMs}`}`,
      measure: "wake-up",
      title: `wake-up, ${process} process${pollMs === undefined ? "" : `, polling each ${pollMs} ms`}`,
      unit: "ms",
      settings: { pollMs: pollMs ?? "default" },
      on(system, setting) {
        const found = system.variants.find((variant) =>
          pollMs === undefined ? variant.name === "" : variant.pollMs === pollMs,
        );
        if (found === undefined || (found.only ?? setting.mode) !== setting.mode) return undefined;
        return () => wakeUp(system, setting, found, process);
      },
    })),
  );
}

function enqueues() {
  const one = (id, title, measure) => ({
    id,
    measure: "enqueue",
    title,
    unit: "jobs/s",
    settings: {},
    on: (system, setting) => () => measure(system, setting),
  });
  return [
    one("enqueue one", "enqueue, one by one", oneByOne),
    one("enqueue 32", "enqueue, 32 callers", thirtyTwoInFlight),
    one("enqueue bulk", "enqueue, 1,000 a call", bulk),
  ];
}

function drains({ database }) {
  const one = (processes, concurrency, share) => ({
    id: `drain ${processes} x ${concurrency}`,
    measure: "drain",
    title: `drain, ${processes} ${processes === 1 ? "process" : "processes"}${concurrency === 1 ? ", one by one" : ""}`,
    unit: "jobs/s",
    settings: { processes, concurrency },
    on: (system, setting) => () =>
      drain(system, setting, {
        processes,
        concurrency: concurrency === 1 ? 1 : (system.concurrency ?? concurrency),
        share: concurrency === 1 && system.atOnce ? share : 1,
      }),
  });
  const batches = [one(1, CONCURRENCY, 1), one(2, CONCURRENCY, 1)];
  return database === "sqlite" ? [one(1, 1, 0.25), ...batches, one(4, CONCURRENCY, 1)] : batches;
}
