import { median, quantile } from "./statistics.js";

/** Of fewer samples no p99 is told. */
const FEW = 100;

const TITLES = { sqlite: "SQLite", postgres: "PostgreSQL" };

/**
 * The figures on one database as a Markdown table, the first system's beside each of the others'.
 *
 * @param {{ systems: Record<string, { name: string, version: string, settings: string }[]>, cases: { id: string,
 *   database: string, title: string, unit: string, settings: Record<string, unknown>,
 *   figures: Record<string, number[][]>, failures: Record<string, string[]> }[] }} report
 * @param {string} database
 */
export function tableOf({ systems, cases: all }, database) {
  const cases = all.filter((one) => one.database === database);
  const [ours, ...others] = systems[database].map(({ name }) => name);
  const head = [
    TITLES[database],
    "mode",
    ...systems[database].map(({ name, version }) => `${name} ${version}`),
  ];
  const rows = cases.map(({ title, unit, settings, figures }) => [
    title,
    String(settings.mode),
    shown(figures[ours], unit),
    ...others.map((other) => shown(figures[other], unit) + ratio(figures[ours], figures[other], unit)),
  ]);
  const failed = cases.flatMap(({ title, settings, failures }) =>
    Object.entries(failures).map(
      ([name, why]) => `${name}: ${title}, ${settings.mode}: ${why.length} runs repeated, since ${why[0]}.\n`,
    ),
  );
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return `${lines.join("\n")}\n\n${failed.join("")}jobs/s: median of the rounds. Wake-up: p50 / p95 / p99 in ms. In brackets: ${ours} against it.`;
}

/** @param {number[][] | undefined} rounds @param {string} unit */
function shown(rounds, unit) {
  if (rounds === undefined) return "";
  if (unit === "jobs/s") return `${Math.round(median(rounds.flat())).toLocaleString("en")}/s`;
  const samples = rounds.flat();
  if (samples.length < FEW) return `${digits(median(samples))}, at most ${digits(Math.max(...samples))}`;
  return [0.5, 0.95, 0.99].map((share) => digits(quantile(samples, share))).join(" / ");
}

function ratio(ours, theirs, unit) {
  if (ours === undefined || theirs === undefined) return "";
  const factor =
    unit === "jobs/s"
      ? median(ours.flat()) / median(theirs.flat())
      : median(theirs.flat()) / median(ours.flat());
  return ` (${digits(factor)}x)`;
}

/** @param {number} value */
function digits(value) {
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(2);
}
