// The section "How fast" of the README, made from the newest full run in results/.
//
//   node bench/readme.js                  writes it
//   node bench/readme.js --print [FILE]   prints what it would write, or what it would be for that run

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { placesOf } from "./report.js";
import { median, quantile } from "./statistics.js";
import { digits, markdown, timesBetter } from "./table.js";

const BEGIN = "<!-- How fast: written by bench/readme.js -->";
const END = "<!-- How fast: end -->";

const ON_SERVERS = {
  "enqueue, one by one": "B1 enqueue one by one",
  "32 in flight": "B1 enqueue 32 in flight",
  "1,000 a call": "B1 enqueue 1,000 a call",
  "drain, 1 process": "B2 drain 1 x 10",
  "2 processes": "B2 drain 2 x 10",
  "wake-up in another process, p50 / p99": "B3 wake-up other",
};

const ON_SQLITE = {
  "enqueue, one by one": "B9 enqueue one 1",
  "32 in flight": "B9 enqueue 32 1",
  "1,000 a call": "B9 enqueue bulk",
  "drain, 1 process": "B9 drain 1 x 10",
  "4 processes": "B9 drain 4 x 10",
  "wake-up in another process, p50 / p99": "B9 wake-up other 1",
};

const results = new URL("./results/", import.meta.url);
const readme = new URL("../README.md", import.meta.url);

/** @param {import("./report.js").Report} report @param {string} file */
function section(report, file) {
  const { method, systems } = report;
  const { sqlite = [], postgres = [] } = systems;
  const tables = [
    tableOf(report, postgres, "On servers", ON_SERVERS, ""),
    ...["full", "normal"].map((mode) => tableOf(report, sqlite, `SQLite, ${mode}`, ON_SQLITE, ` ${mode}`)),
  ].filter((table) => table !== undefined);
  return `## How fast

Beside other job queues, in turns within one run, medians of ${method.rounds} rounds, of jobs that do nothing. In brackets: how many
times better Leasehold is. Trust these ratios rather than the figures: they were taken at the same time on the same machine.

${tables.join("\n\n")}

${placesOf(report).join("\n")}
Inputs are ${method.payloadBytes} bytes of JSON; workers run 10 jobs at once unless it says otherwise. PostgreSQL waits for the disk with every commit, as
it comes; Redis syncs its append-only file each second; SQLite's \`full\` waits for the disk, \`normal\` does not. Settings:
${settingsOf([...postgres, ...sqlite])}.

It does not show what handlers cost that do something (then the queue hardly matters), large inputs, other machines, or
more than two cores' worth of workers; nor safety, which is not the same: Leasehold compares the fencing token in each write and keeps what became of
every job. [How it is measured, and what else](bench/README.md); all figures are in [${file}](bench/results/${file}).`;
}

/** One line for each system; undefined where the run did not measure any of it. */
function tableOf({ cases }, systems, title, columns, suffix) {
  const rows = Object.values(columns).map((id) => cases.find((one) => one.id === `${id}${suffix}`));
  const measured = systems.filter(({ name }) => rows.some((row) => row?.figures[name]));
  const [ours] = measured;
  if (ours === undefined) return undefined;
  const lines = measured.map(({ name, version }) => [
    `${name} ${version}`,
    ...rows.map((row) => (row === undefined ? "" : cell(row, row.figures[ours.name], row.figures[name]))),
  ]);
  return markdown([[title, ...Object.keys(columns)], ...lines]);
}

function cell({ unit }, ours, figures) {
  if (figures === undefined) return "";
  const samples = figures.flat();
  const text =
    unit === "jobs/s"
      ? `${Math.round(median(samples)).toLocaleString("en")}/s`
      : `${digits(median(samples))} / ${digits(quantile(samples, 0.99))} ms`;
  const times = ours === figures ? undefined : timesBetter(ours, figures, unit);
  return times === undefined ? text : `${text} (${digits(times)}x)`;
}

function settingsOf(systems) {
  return systems.map(({ name, settings }) => `${name}: ${settings}`).join("; ");
}

/** By their names, which begin with the time. */
function newestFull() {
  const found = readdirSync(results)
    .filter((name) => name.endsWith("-full.json"))
    .sort()
    .at(-1);
  return found === undefined ? undefined : fileURLToPath(new URL(found, results));
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { print: { type: "boolean", default: false } },
});
const [path = newestFull()] = positionals;
const text = path === undefined ? "" : section(JSON.parse(readFileSync(path, "utf8")), basename(path));
if (values.print) {
  process.stdout.write(text);
} else {
  const whole = readFileSync(readme, "utf8");
  const [before, , after] = split(whole);
  writeFileSync(readme, `${before}${BEGIN}\n${text}\n${END}${after}`);
}

/** What stands before, between and behind the two marks. */
function split(whole) {
  const [before = "", rest] = whole.split(BEGIN);
  const [between, after] = rest?.split(END) ?? [];
  if (between === undefined || after === undefined) throw new Error(`README.md has no ${BEGIN} … ${END}.`);
  return [before, between, after];
}
