// Makes a full run of parts that were run one after the other, each of them with all rounds: figures are ratios within a workload,
// and a workload is never taken from two parts. Parts may be of several machines, since none compares with another's figures;
// which workload ran where is told.
//
//   node bench/join.js results/A-part.json results/B-part.json …     the later one counts where both have a workload

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { cases } from "./cases.js";
import { FULL_ROUNDS, placesOf, textOf } from "./report.js";
import { toldOf } from "./told.js";

/** @typedef {import("./report.js").Report} Report */

const files = process.argv.slice(2);
if (files.length === 0) refuse("Name the files of the parts.");
/** @type {Report[]} */
const parts = files.map((file) => JSON.parse(readFileSync(file, "utf8")));
parts.sort((one, other) => one.startedAt.localeCompare(other.startedAt));
const newest = /** @type {Report} */ (parts.at(-1));

for (const { startedAt, method, systems } of parts) {
  if (method.run === "quick" || method.rounds < FULL_ROUNDS)
    refuse(
      `The run of ${startedAt} is ${method.run}, of ${method.rounds} rounds: ${FULL_ROUNDS} are wanted.`,
    );
  for (const [database, present] of Object.entries(systems)) {
    const others = newest.systems[database];
    if (others !== undefined && !isDeepStrictEqual(present, others))
      refuse(`The run of ${startedAt} had other systems, or versions, on ${database}.`);
  }
}

/** @type {Map<string, Report>} */
const partOf = new Map();
for (const part of parts) for (const { workload } of part.cases) partOf.set(workload, part);

const rows = [...new Set(cases.map(({ workload }) => workload))].flatMap(
  (workload) => partOf.get(workload)?.cases.filter((row) => row.workload === workload) ?? [],
);
const missing = cases.filter(({ id }) => !rows.some((row) => row.id === id || row.id.startsWith(`${id}: `)));
if (missing.length > 0) refuse(`Not measured: ${missing.map(({ id }) => id).join(", ")}.`);

/** @type {Report} */
const whole = {
  ...newest,
  seconds: parts.reduce((sum, { seconds }) => sum + seconds, 0),
  systems: Object.assign({}, ...parts.map(({ systems }) => systems)),
  servers: Object.assign({}, ...parts.map(({ servers }) => servers)),
  notRun: [...new Set(parts.flatMap(({ notRun }) => notRun))],
  method: { ...newest.method, run: "full", only: [] },
  parts: parts.flatMap((part) => {
    const { startedAt, machine } = part;
    const workloads = [...partOf].filter(([, of]) => of === part).map(([workload]) => workload);
    return workloads.length === 0 ? [] : [{ workloads, startedAt, machine }];
  }),
  cases: rows,
};
const name = `${whole.startedAt.replaceAll(/[:.]/g, "-")}-full.json`;
const out = fileURLToPath(new URL(`./results/${name}`, import.meta.url));
writeFileSync(out, textOf(whole));
writeFileSync(
  out.replace(/json$/, "md"),
  `# ${name.replace(".json", "")}\n\n${placesOf(whole).join("\n")}\n\n${toldOf(whole)}\n`,
);
console.log(`${rows.length} rows of ${parts.length} parts: ${out}, and .md`);

/** @param {string} why @returns {never} */
function refuse(why) {
  console.error(why);
  process.exit(2);
}
