// What is measured. A case gives, for each system, a function that measures it once, or undefined where the system has
// no such thing.

import { drain } from "./measures/drain.js";
import { bulk, oneByOne, thirtyTwoInFlight } from "./measures/enqueue.js";
import { wakeUp } from "./measures/wake-up.js";

/** How many handlers a worker of ours may run at once in the batch drains. */
const CONCURRENCY = 100;

/**
 * @typedef {object} Case
 * @property {string} id
 * @property {"drain" | "enqueue" | "wake-up"} measure
 * @property {string} title
 * @property {"jobs/s" | "ms"} unit
 * @property {Record<string, unknown>} settings
 * @property {(system: import("./systems/system.js").System) => (() => Promise<number | number[]>) | undefined} on
 */

/** @type {Case[]} */
export const cases = ["full", "normal"].flatMap((synchronous) => [
  ...wakeUps(synchronous),
  ...enqueues(synchronous),
  ...drains(synchronous),
]);

function wakeUps(synchronous) {
  return ["same", "other"].flatMap((process) =>
    [undefined, 10].map((pollMs) => ({
      id: `wake-up ${process} ${synchronous}${pollMs === undefined ? "" : ` poll ${pollMs}`}`,
      measure: "wake-up",
      title: `wake-up, ${process} process${pollMs === undefined ? "" : `, polling each ${pollMs} ms`}`,
      unit: "ms",
      settings: { synchronous, pollMs: pollMs ?? "default" },
      on(system) {
        const found = system.variants.find((variant) =>
          pollMs === undefined ? variant.name === "" : variant.pollMs === pollMs,
        );
        if (found === undefined || (found.only ?? synchronous) !== synchronous) return undefined;
        return () => wakeUp(system, synchronous, found, process);
      },
    })),
  );
}

function enqueues(synchronous) {
  const one = (id, title, measure) => ({
    id: `${id} ${synchronous}`,
    measure: "enqueue",
    title,
    unit: "jobs/s",
    settings: { synchronous },
    on: (system) => () => measure(system, synchronous),
  });
  return [
    one("enqueue one", "enqueue, one by one", oneByOne),
    one("enqueue 32", "enqueue, 32 callers", thirtyTwoInFlight),
    one("enqueue bulk", "enqueue, 1,000 a call", bulk),
  ];
}

function drains(synchronous) {
  const one = (processes, concurrency, share) => ({
    id: `drain ${processes} x ${concurrency} ${synchronous}`,
    measure: "drain",
    title: `drain, ${processes} ${processes === 1 ? "process" : "processes"}${concurrency === 1 ? ", one by one" : ""}`,
    unit: "jobs/s",
    settings: { synchronous, processes, concurrency },
    on: (system) => () =>
      drain(system, synchronous, {
        processes,
        concurrency,
        share: concurrency === 1 && system.atOnce ? share : 1,
      }),
  });
  return [one(1, 1, 0.25), one(1, CONCURRENCY, 1), one(2, CONCURRENCY, 1), one(4, CONCURRENCY, 1)];
}
