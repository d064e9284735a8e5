// A report's figures as Markdown.

import { median, quantile } from "./statistics.js";

/** Of fewer samples no p99 is told. */
const FEW = 100;

const TITLES = { sqlite: "SQLite", postgres: "On servers", redis: "Redis", none: "Without a database" };

/** Of what more is better; of the rest less is, or neither. */
const MORE_IS_BETTER = new Set(["jobs/s"]);
const LESS_IS_BETTER = new Set(["ms", "s", "MB"]);

/**
 * The figures on one database, the first system's beside each of the others', and what went wrong.
 *
 * @param {import("./report.js").Report} report
 * @param {string} database
 */
export function tableOf({ systems, cases: all, method }, database) {
  const cases = all.filter((one) => one.database === database);
  if (cases.length === 0) return "";
  const measured = systems[database].filter(({ name }) => cases.some(({ figures }) => figures[name]));
  const [ours, ...others] = measured.map(({ name }) => name);
  const head = [TITLES[database], ...measured.map(({ name, version }) => `${name} ${version}`)];
  const rows = cases.map((one) => [
    titleOf(one, method.rounds),
    shown(one.figures[ours], one.unit),
    ...others.map(
      (other) =>
        shown(one.figures[other], one.unit) + ratioText(one.figures[ours], one.figures[other], one.unit),
    ),
  ]);
  const failed = cases.flatMap(({ title, settings, failures }) =>
    Object.entries(failures).map(
      ([name, why]) =>
        `${name}: ${title}${modeOf(settings)}: ${why.length} runs failed, first with: ${why[0]}`,
    ),
  );
  const notes = [
    ...new Set(failed),
    "Rates: median of the rounds. Times with three figures: p50 / p95 / p99. In brackets: how many times better " +
      `${ours} is.`,
  ];
  return `${markdown([head, ...rows])}\n\n${notes.join("\n")}`;
}

/** @param {string[][]} lines the first is the head */
export function markdown([head = [], ...rows]) {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** @param {number[][] | undefined} rounds @param {string} unit */
export function shown(rounds, unit) {
  if (rounds === undefined) return "";
  const samples = rounds.flat();
  if (unit.endsWith("/s")) return `${Math.round(median(samples)).toLocaleString("en")}/s`;
  // A list for each round: samples. Otherwise one figure for each.
  if (rounds.every(({ length }) => length === 1)) return `${digits(median(samples))} ${unit}`;
  if (samples.length < FEW) {
    return `${digits(median(samples))}, at most ${digits(Math.max(...samples))} ${unit}`;
  }
  return `${[0.5, 0.95, 0.99].map((share) => digits(quantile(samples, share))).join(" / ")} ${unit}`;
}

/**
 * How many times better ours is; undefined of what is neither better nor worse.
 *
 * @param {number[][] | undefined} ours
 * @param {number[][] | undefined} theirs
 * @param {string} unit
 */
export function timesBetter(ours, theirs, unit) {
  if (ours === undefined || theirs === undefined) return undefined;
  const [a, b] = [median(ours.flat()), median(theirs.flat())];
  if (MORE_IS_BETTER.has(unit)) return a / b;
  return LESS_IS_BETTER.has(unit) ? b / a : undefined;
}

/** @param {number} value */
export function digits(value) {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return value.toPrecision(2);
}

function ratioText(ours, theirs, unit) {
  const times = timesBetter(ours, theirs, unit);
  return times === undefined || !Number.isFinite(times) ? "" : ` (${digits(times)}x)`;
}

function titleOf({ title, settings, rounds }, ofRun) {
  return `${title}${modeOf(settings)}${rounds < ofRun ? ` (${rounds} of ${ofRun} rounds)` : ""}`;
}

function modeOf({ mode }) {
  return mode === undefined ? "" : `, ${mode}`;
}
