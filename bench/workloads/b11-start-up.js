// B11: what it takes to begin.

import { firstJobMs, helpMs, importMs } from "../measures/start-up.js";
import { best } from "../reading.js";

const OURS = "leasehold";
const IMPORTS = ["leasehold", "leasehold/postgres", "leasehold/sqlite"];

const common = {
  workload: "B11",
  measure: "start-up",
  unit: /** @type {const} */ ("ms"),
  settings: {},
  inQuick: true,
};
const ofOurs = (measure) => (system) => (system.name === OURS ? measure : undefined);

/** @type {import("../cases.js").Case[]} */
export const cases = [
  ...IMPORTS.map((name) => ({
    ...common,
    id: idOf(name),
    database: /** @type {const} */ ("none"),
    title: `import "${name}"`,
    inQuick: name === OURS,
    on: ofOurs(() => importMs(name)),
  })),
  {
    ...common,
    id: "B11 help",
    database: "none",
    title: "leasehold --help",
    on: ofOurs(helpMs),
  },
  .../** @type {const} */ (["postgres", "sqlite"]).map((database) => ({
    ...common,
    id: `B11 first job ${database}`,
    database,
    title: "from an empty database to the first handler",
    settings: database === "sqlite" ? { mode: "full" } : {},
    on: (system, setting) =>
      system.takesPart.includes("wake-up") ? () => firstJobMs(system, setting) : undefined,
  })),
];

/** @type {import("../cases.js").Target[]} */
export const targets = [
  {
    what: `import "leasehold"`,
    measured: (report) => best(report, [idOf("leasehold")], [OURS]),
    atMost: 60,
    unit: "ms",
  },
  {
    what: "leasehold --help",
    measured: (report) => best(report, ["B11 help"], [OURS]),
    atMost: 150,
    unit: "ms",
  },
];

function idOf(name) {
  return `B11 import ${name}`;
}
