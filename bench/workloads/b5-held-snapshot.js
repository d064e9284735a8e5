// B5: whether somebody's long transaction makes a drain slower: none of the rows that die meanwhile can be cleaned away.

import { FIGURES, heldSnapshot } from "../measures/held-snapshot.js";
import { heldSnapshotLoop } from "../measures/held-snapshot-loop.js";
import { best, OURS } from "../reading.js";

const JOBS = 1_000_000;
const FEWER_JOBS = 200_000;
const ROUNDS = 3;
const PERCENT = /** @type {const} */ ("%");
const UNITS = { [FIGURES.share]: PERCENT, [FIGURES.freeLast]: PERCENT, [FIGURES.last]: PERCENT };

const WORKER = "B5 worker";
const LOOP = "B5 loop";

/** @type {import("../cases.js").Case[]} */
export const cases = [
  {
    id: WORKER,
    workload: "B5",
    database: "postgres",
    measure: "held-snapshot",
    title: "drain of 1 M (peers: 200 k), 1 process",
    unit: "jobs/s",
    units: UNITS,
    // What a worker claims at once is its free places and what it has begun in the last 100 ms, 500 at the most: no
    // setting makes it 100. With 100 places it is 100 and more.
    settings: { concurrency: 100, slice: 20_000 },
    inQuick: true,
    rounds: ROUNDS,
    on(system, setting) {
      const isPeer = system.name === "graphile-worker tuned" && setting.scale === 1;
      if (system.name !== OURS && !isPeer) return undefined;
      const jobs = isPeer ? FEWER_JOBS : JOBS;
      const concurrency = system.concurrency ?? 100;
      return () => heldSnapshot(system, setting, { jobs: jobs * setting.scale, concurrency });
    },
  },
  {
    id: LOOP,
    workload: "B5",
    database: "postgres",
    measure: "held-snapshot-loop",
    title: "2 loops over the store, claim 100 and complete 100, 1 M",
    unit: "jobs/s",
    units: UNITS,
    settings: { batch: 100, loops: 2, slice: 20_000 },
    inQuick: false,
    rounds: ROUNDS,
    on: (system, setting) =>
      system.name === OURS
        ? () => heldSnapshotLoop(system, setting, { jobs: JOBS * setting.scale })
        : undefined,
  },
];

/** @type {import("../cases.js").Target[]} */
export const targets = [
  { id: WORKER, who: "worker" },
  { id: LOOP, who: "claims of 100" },
].flatMap(({ id, who }) => [
  {
    what: `snapshot held, of the free rate, ${who}`,
    measured: (report) => best(report, [`${id}: ${FIGURES.share}`], [OURS]),
    atLeast: 95,
    unit: "%",
  },
  {
    what: `snapshot held, last slices of the first, ${who}`,
    measured: (report) => best(report, [`${id}: ${FIGURES.last}`], [OURS]),
    atLeast: 90,
    unit: "%",
  },
]);
