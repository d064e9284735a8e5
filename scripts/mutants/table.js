// The table of a run: a line for each mistake, a column for each kind of test.

import { execFileSync } from "node:child_process";
import { ROOT } from "./copy.js";

/** @typedef {import("../../test/mutants/mistakes.ts").Mistake} Mistake */
/** @typedef {import("../../test/mutants/source-mutant.ts").SourceMutant} SourceMutant */
/** @typedef {import("../mutants.js").Found} Found */
/** @typedef {Mistake & { isNamed: boolean }} Row */

const COLUMNS = ["model", "simulation", "conformance", "kits", "worker", "faults", "processes"];

/**
 * The mistakes, and behind them every mutant that stands for none of them, as a line of its own.
 *
 * @param {readonly Mistake[]} mistakes
 * @param {readonly SourceMutant[]} sources
 * @param {readonly string[]} simulated
 * @returns {readonly Row[]}
 */
export function rowsOf(mistakes, sources, simulated) {
  const named = new Set(mistakes.flatMap((one) => [...one.sources, ...one.simulated]));
  return [
    ...mistakes.map((mistake) => ({ ...mistake, isNamed: true })),
    ...sources
      .filter(({ name }) => !named.has(name))
      .map(({ name }) => ({ name, variants: [], simulated: [], sources: [name], isNamed: false })),
    ...simulated
      .filter((name) => !named.has(name))
      .map((name) => ({ name, variants: [], simulated: [name], sources: [], isNamed: false })),
  ];
}

/**
 * @param {readonly Row[]} rows
 * @param {readonly Found[]} found
 * @param {{ seconds: number, wrong: readonly string[] }} run
 */
export function tableOf(rows, found, { seconds, wrong }) {
  const mutants = new Set(found.map(({ row, mutant }) => `${row}\0${mutant}`)).size;
  const earlier = found.filter(({ isEarlier }) => isEarlier).length;
  const survivors = found.filter(({ isKilled }) => !isKilled).length;
  const head = `| mistake | ${COLUMNS.join(" | ")} |\n|${"---|".repeat(COLUMNS.length + 1)}`;
  const lines = (/** @type {boolean} */ isNamed) =>
    rows.filter((row) => row.isNamed === isNamed).map((row) => lineOf(row, found));
  return [
    "# Mutants, and what finds them out",
    "",
    `Written by \`npm run mutants\` on ${new Date().toISOString().slice(0, 10)}, commit ${commit()}, Node ${process.versions.node}:`,
    `${mutants} mutants, asked ${found.length} times, ${survivors} survivors, ${seconds.toFixed(0)} s${earlier > 0 ? ` (${earlier} answers are of an earlier run with the same sources)` : ""}. In a cell: the variant of the model and`,
    "the invariant that it breaks; the world of the simulation; the first test that fails; the run of real processes and what it breaks.",
    "",
    head,
    ...lines(true),
    "",
    "Besides:",
    "",
    head,
    ...lines(false),
    "",
    ...(wrong.length === 0
      ? ["Each test named here passes without a mutant."]
      : ["Without a mutant:", "", ...wrong.map((one) => `- ${one}`)]),
    "",
  ].join("\n");
}

/** @param {Row} row @param {readonly Found[]} found */
function lineOf(row, found) {
  const cells = COLUMNS.map((column) =>
    found
      .filter((one) => one.row === row.name && one.tier === column)
      .map((one) => cellOf(row, one))
      .join("<br>"),
  );
  return `| ${row.name} | ${cells.join(" | ")} |`;
}

/** @param {Row} row @param {Found} one */
function cellOf(row, { mutant, isKilled, by, seconds, tier }) {
  const where =
    tier === "model" || mutant === row.name ? "" : `${/, in (.*)$/.exec(mutant)?.[1] ?? mutant}: `;
  const told = `${where}${by}`.replaceAll("|", "\\|").replaceAll("<", "&lt;");
  return `${isKilled ? "" : "**SURVIVED** "}${told} (${seconds.toFixed(1)} s)`;
}

function commit() {
  try {
    const git = (/** @type {string[]} */ ...args) =>
      execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
    const changed = git("status", "--porcelain", "--", "src", "test", "spec", ":!test/mutants/table.md");
    return `${git("rev-parse", "--short", "HEAD")}${changed === "" ? "" : " with changes"}`;
  } catch {
    return "unknown";
  }
}
