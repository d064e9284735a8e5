// B9: what B1 to B3 measure, on SQLite, with 1, 2 and 4 processes, and with commits that wait for the disk (`full`) or do
// not (`normal`).

import { drain } from "../measures/drain.js";
import { bulk, inFlight } from "../measures/enqueue.js";
import { longestWrite } from "../measures/lock-wait.js";
import { wakeUp } from "../measures/wake-up.js";
import { best, lowest, OURS_ON_SQLITE as OURS, ratio } from "../reading.js";

const DEFAULT_CONCURRENCY = 10;
const MODES = ["full", "normal"];

/** @type {import("../cases.js").Case[]} */
export const cases = MODES.flatMap((mode) =>
  [...enqueues(), ...drains(), ...wakeUps(mode), lockWait()].map((one) => ({
    inQuick: false,
    ...one,
    id: `B9 ${one.id} ${mode}`,
    workload: "B9",
    database: /** @type {const} */ ("sqlite"),
    settings: { mode, ...one.settings },
  })),
);

/** @type {import("../cases.js").Target[]} */
export const targets = [
  peer("drain, 1 process, normal", "drain 1 x 10", 7),
  peer("drain, 4 processes, normal", "drain 4 x 10", 7),
  peer("enqueue, one by one, normal", "enqueue one 1", 0.9),
  peer("enqueue, 32 in flight, normal", "enqueue 32 1", 4),
  peer("enqueue, 1,000 a call, normal", "enqueue bulk", 1),
  ...[1, 4].map((processes) => ({
    what: `drain, ${plural(processes)}, full against normal`,
    measured: (report) =>
      ratio(
        best(report, [`B9 drain ${processes} x 10 full`], [OURS]),
        best(report, [`B9 drain ${processes} x 10 normal`], [OURS]),
      ),
    atLeast: 0.6,
  })),
  ...MODES.map((mode) => ({
    what: `longest call that writes, 4 busy processes, ${mode}`,
    measured: (report) => lowest(report, `B9 lock ${mode}`, [OURS], 1),
    atMost: 250,
    unit: "ms",
  })),
];

/** Against plainjob, at `normal`, which is what it sets. */
function peer(what, id, atLeast) {
  return {
    what: `${what}, against plainjob`,
    measured: (report) =>
      ratio(best(report, [`B9 ${id} normal`], [OURS]), best(report, [`B9 ${id} normal`], ["plainjob"])),
    atLeast,
  };
}

function enqueues() {
  const adding = (id, title, on, inQuick) => ({
    id: `enqueue ${id}`,
    measure: "enqueue",
    title: `enqueue, ${title}`,
    unit: /** @type {const} */ ("jobs/s"),
    settings: {},
    inQuick,
    on: (system, setting) => (system.takesPart.includes("enqueue") ? on(system, setting) : undefined),
  });
  const flights = [1, 2, 4].flatMap((processes) =>
    [1, 32, ...(processes === 1 ? [256] : [])].map((callers) =>
      adding(
        `${callers === 1 ? "one" : callers} ${processes}`,
        `${callers === 1 ? "one by one" : `${callers} in flight`}, ${plural(processes)}`,
        (system, setting) => () => inFlight(system, setting, { callers, processes }),
        processes === 1 && callers < 256,
      ),
    ),
  );
  const many = (system, setting) => (system.doors.includes("bulk") ? () => bulk(system, setting) : undefined);
  return [...flights, adding("bulk", "1,000 a call", many, true)];
}

function drains() {
  const HOW = [
    { processes: 1, concurrency: 1 },
    { processes: 1, concurrency: 10 },
    { processes: 1, concurrency: 100 },
    { processes: 2, concurrency: 10 },
    { processes: 4, concurrency: 10 },
    { processes: 4, concurrency: 100 },
  ];
  return HOW.map(({ processes, concurrency }) => ({
    id: `drain ${processes} x ${concurrency}`,
    measure: "drain",
    title: `drain, ${plural(processes)} x ${concurrency}`,
    unit: /** @type {const} */ ("jobs/s"),
    settings: { processes, concurrency },
    inQuick: concurrency === DEFAULT_CONCURRENCY && processes !== 2,
    on(system, setting) {
      if (!system.takesPart.includes("drain")) return undefined;
      // One that runs one job at a time stands beside what is one by one and beside the default.
      if (!system.atOnce && concurrency === 100) return undefined;
      const share = concurrency === 1 && system.atOnce ? 0.25 : 1;
      return () => drain(system, setting, { processes, concurrency, share });
    },
  }));
}

function wakeUps(mode) {
  const arrangements = [
    { id: "same", title: "same process", where: "same", workers: 1, processes: 0 },
    ...[1, 2, 4].map((processes) => ({
      id: `other ${processes}`,
      title: `idle workers in ${processes === 1 ? "another process" : `${processes} other processes`}`,
      where: "other",
      workers: processes,
      processes,
    })),
  ];
  return arrangements.map(({ id, title, ...how }) => ({
    id: `wake-up ${id}`,
    measure: "wake-up",
    title: `wake-up, ${title}`,
    unit: /** @type {const} */ ("ms"),
    settings: how,
    inQuick: how.workers === 1 && mode === "normal",
    on(system, setting) {
      if (!system.takesPart.includes("wake-up")) return undefined;
      // One that polls each second takes long; neither the disk nor the arrangement matters to it.
      if (system.pollMs >= 1_000 && (how.where !== "same" || mode !== "normal" || setting.scale < 1))
        return undefined;
      return () => wakeUp(system, setting, how);
    },
  }));
}

function lockWait() {
  return {
    id: "lock",
    measure: "lock-wait",
    title: "longest call that writes, 4 busy processes",
    unit: /** @type {const} */ ("ms"),
    settings: { processes: 4, concurrency: DEFAULT_CONCURRENCY },
    on: (system, setting) =>
      system.doors.includes("seen") ? () => longestWrite(system, setting) : undefined,
  };
}

function plural(processes) {
  return `${processes} ${processes === 1 ? "process" : "processes"}`;
}
