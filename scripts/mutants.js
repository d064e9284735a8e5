// `npm run mutants [-- --only NAME --tier TIER --continue]`: breaks the project in every way that a test is there for, one at a
// time, and asks each kind of test that has to find it out. Prints a table; whole runs write it to test/mutants/table.md as
// well. Exit code 1: a mutant survived where it must not, or a test that found one fails without it, too.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createJiti } from "jiti";
import { twoAtATime, variants } from "./model.js";
import { control } from "./mutants/control.js";
import { copyWith, ROOT, removeCopy } from "./mutants/copy.js";
import { Earlier } from "./mutants/earlier.js";
import { rowsOf, tableOf } from "./mutants/table.js";
import { askModel, askProcesses, askSimulation, askTests } from "./mutants/tiers.js";

/** @typedef {import("../test/mutants/source-mutant.ts").SourceMutant} SourceMutant */
/** @typedef {import("../test/mutants/source-mutant.ts").Tier} Tier */
/** @typedef {import("./mutants/tiers.js").Answer} Answer */
/**
 * `row`: the mistake that it stands for. `mutant`: by its name.
 *
 * @typedef {{ row: string, mutant: string, tier: Tier | "model", chaos?: import("./mutants/tiers.js").Chaos | undefined } & Answer} Found
 */

const TIERS = ["model", "simulation", "conformance", "kits", "worker", "faults", "processes"];

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    tier: { type: "string", multiple: true },
    continue: { type: "boolean", default: false },
  },
});
for (const tier of values.tier ?? [])
  if (!TIERS.includes(tier)) throw new Error(`There is no tier ${tier}, but ${TIERS.join(", ")}`);

const jiti = createJiti(import.meta.url, { fsCache: false });
/** @type {typeof import("../test/mutants/all.ts")} */
const { SOURCE_MUTANTS } = await jiti.import("../test/mutants/all.ts");
/** @type {typeof import("../test/mutants/mistakes.ts")} */
const { MISTAKES } = await jiti.import("../test/mutants/mistakes.ts");
/** @type {typeof import("../test/mutants/source-mutant.ts")} */
const { filesOf, mutated, testsOf } = await jiti.import("../test/mutants/source-mutant.ts");
/** @type {typeof import("../test/mutants/bundle.ts")} */
const { bundle } = await jiti.import("../test/mutants/bundle.ts");
/** @type {typeof import("../test/simulation/mutants.ts")} */
const { MUTANTS } = await jiti.import("../test/simulation/mutants.ts");

// Below node_modules, so that what a bundled program imports is found from there.
const work = join(ROOT, "node_modules", ".leasehold-mutants");
mkdirSync(work, { recursive: true });
const bundles = mkdtempSync(join(work, "table-"));

const earlier = new Earlier(join(work, "answers.json"), values.continue);
/** @type {Found[]} */
const found = [];
const startedAtMs = performance.now();
try {
  await askAll();
} finally {
  rmSync(bundles, { recursive: true, force: true });
}

async function askAll() {
  execFileSync(process.execPath, ["scripts/build.js", "--quiet"], { cwd: ROOT, stdio: "inherit" });
  const rows = rowsOf(MISTAKES, SOURCE_MUTANTS, Object.keys(MUTANTS)).filter(isAsked);
  const sound = await bundle("test/simulation/hunt.ts", mkdtempSync(join(bundles, "hunt-")));
  /** @type {(() => Promise<void>)[]} */
  const side = [];
  /** @type {(() => Promise<void>)[]} */
  const alone = [];
  for (const row of rows) {
    for (const name of wants("model") ? row.variants : [])
      side.push(() => noting(row.name, { name }, "model", () => askModel(variantOf(name))));
    for (const name of wants("simulation") ? row.simulated : [])
      side.push(() => noting(row.name, { name }, "simulation", () => askSimulation(sound, name)));
    for (const name of row.sources) {
      const mutant = /** @type {SourceMutant} */ (SOURCE_MUTANTS.find((one) => one.name === name));
      side.push(() => askSource(row.name, mutant));
      // What is judged by how soon things happen has the machine for itself.
      if (mutant.tiers.includes("processes") && wants("processes"))
        alone.push(() => askUnderFaults(row.name, mutant));
    }
  }
  await Promise.all(twoAtATime(side, (ask) => ask()));
  for (const ask of alone) await ask();
  const wrong = await control(found, sound, await copyWith(undefined, { filesOf, mutated }));
  report(rows, wrong);
}

/** @param {string} row @param {SourceMutant} mutant */
async function askSource(row, mutant) {
  await noting(row, mutant, "simulation", async () => {
    const program = await bundle("test/simulation/hunt.ts", mkdtempSync(join(bundles, "hunt-")), mutant);
    return askSimulation(program);
  });
  /** @type {Tier[]} */
  const tiers = ["conformance", "kits", "worker", "faults"];
  const asked = tiers.filter((tier) => mutant.tiers.includes(tier) && wants(tier));
  if (asked.length === 0) return;
  if (asked.every((tier) => earlier.answer(mutant, tier) !== undefined)) {
    for (const tier of asked)
      note(row, mutant.name, tier, /** @type {Answer} */ (earlier.answer(mutant, tier)));
    return;
  }
  await withCopy(row, mutant, async (folder) => {
    for (const tier of tiers) await noting(row, mutant, tier, () => askTests(folder, testsOf(mutant, tier)));
  });
}

/** @param {string} row @param {SourceMutant} mutant */
async function askUnderFaults(row, mutant) {
  const { chaos } = mutant;
  if (chaos === undefined) throw new Error(`${mutant.name} does not say what has to break`);
  await withCopy(row, mutant, (folder) =>
    noting(row, mutant, "processes", () => askProcesses(folder, chaos)),
  );
}

/** @param {string} row @param {SourceMutant} mutant @param {(folder: string) => Promise<void>} ask */
async function withCopy(row, mutant, ask) {
  const { tiers, name } = mutant;
  const folder = await copyWith(mutant, { filesOf, mutated }).catch((/** @type {Error} */ { message }) =>
    note(row, name, tiers[0] ?? "model", { isKilled: false, by: `not judged: ${message}`, seconds: 0 }),
  );
  if (folder === undefined) return;
  try {
    await ask(folder);
  } finally {
    removeCopy(folder);
  }
}

/**
 * @param {string} row
 * @param {{ name: string, tiers?: readonly Tier[] }} mutant
 * @param {Tier | "model"} tier
 * @param {() => Promise<Answer>} ask
 */
async function noting(row, mutant, tier, ask) {
  const isAsked = tier === "model" || (mutant.tiers?.includes(tier) ?? true);
  if (!isAsked || !wants(tier)) return;
  const known = earlier.answer(mutant, tier);
  const answer = known ?? (await ask());
  if (known === undefined) earlier.keep(mutant, tier, answer);
  note(row, mutant.name, tier, answer);
}

/** @param {string} row @param {string} mutant @param {Tier | "model"} tier @param {Answer} answer */
function note(row, mutant, tier, answer) {
  const chaos = SOURCE_MUTANTS.find(({ name }) => name === mutant)?.chaos;
  found.push({ row, mutant, tier, chaos, ...answer });
  const { isKilled, by, why, seconds } = answer;
  console.log(`${isKilled ? "found out" : "SURVIVED "} ${tier}: ${mutant} (${seconds.toFixed(1)} s) ${by}`);
  if (why !== undefined) console.log(`          ${why}`);
}

/** @param {import("./mutants/table.js").Row} row */
function isAsked({ name, variants, simulated, sources }) {
  if (values.only === undefined) return true;
  return values.only.some((asked) =>
    [name, ...variants, ...simulated, ...sources].some((one) => one.includes(asked)),
  );
}

/** @param {string} tier */
function wants(tier) {
  return values.tier === undefined || values.tier.includes(tier);
}

/** @param {string} name */
function variantOf(name) {
  const variant = variants().find((one) => one.name === name);
  if (variant === undefined) throw new Error(`No variant of the model is called ${name}`);
  return variant;
}

/** @param {readonly import("./mutants/table.js").Row[]} rows @param {readonly string[]} wrong */
function report(rows, wrong) {
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const survivors = found.filter(({ isKilled }) => !isKilled);
  const text = tableOf(rows, found, { seconds, wrong });
  console.log(`\n${text}`);
  if (values.only === undefined && values.tier === undefined)
    writeFileSync(join(ROOT, "test", "mutants", "table.md"), text);
  if (survivors.length > 0 || wrong.length > 0) process.exitCode = 1;
}
