// What a run leaves behind: every figure, and what one must know to judge it.

import { arch, cpus, platform, release, totalmem } from "node:os";
import { keyOf, roundsOf } from "./turns.js";

/**
 * @typedef {object} Row a case, or one of its named figures
 * @property {string} id
 * @property {string} workload
 * @property {string} database
 * @property {string} title
 * @property {string} unit
 * @property {number} rounds
 * @property {Record<string, unknown>} settings
 * @property {Record<string, number[][]>} figures by system: the figures of each round
 * @property {Record<string, string[]>} failures by system: what ended runs that were then repeated
 * @property {Record<string, number>} seconds by system: how long all rounds took, with all that has to be made first
 *
 * @typedef {object} Report
 * @property {string} startedAt
 * @property {number} seconds
 * @property {{ cpu: string | undefined, cores: number, memoryGiB: number, system: string, node: string }} machine
 * @property {Record<string, { name: string, version: string, settings: string }[]>} systems by database
 * @property {Record<string, { version: string, settings: Record<string, unknown> }>} servers
 * @property {string[]} notRun
 * @property {{ run: "quick" | "part" | "full", rounds: number, only: string[], order: string, payloadBytes: number, place: string }} method
 * @property {{ workloads: string[], startedAt: string, machine: Report["machine"] }[]} [parts] of a run that was joined of
 *   several; then `machine` is that of the last
 * @property {Row[]} cases
 */

/** Fewer rounds are a part of a run. */
export const FULL_ROUNDS = 5;

/**
 * @param {object} run
 * @param {Date} run.startedAt
 * @param {Report["method"]["run"]} run.run
 * @param {number} run.rounds
 * @param {string[]} run.only the workloads that were asked for
 * @param {readonly import("./cases.js").Case[]} run.cases
 * @param {Record<string, import("./systems/system.js").System[]>} run.systems
 * @param {Report["servers"]} run.servers
 * @param {string[]} run.notRun
 * @param {import("./turns.js").Figures} figures
 * @returns {Report}
 */
export function reportOf({ startedAt, run, rounds, only, cases, systems, servers, notRun }, figures) {
  return {
    startedAt: startedAt.toISOString(),
    seconds: Math.round((Date.now() - startedAt.getTime()) / 1_000),
    machine: {
      cpu: cpus()[0]?.model,
      cores: cpus().length,
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      system: `${platform()} ${release()} ${arch()}`,
      node: process.version,
    },
    systems: Object.fromEntries(
      Object.entries(systems).map(([database, present]) => [
        database,
        present.map(({ name, version, settings = "defaults" }) => ({ name, version, settings })),
      ]),
    ),
    servers,
    notRun,
    method: {
      run,
      rounds,
      only,
      order:
        "in turns, every other round the other way about; medians over rounds; quantiles over all samples",
      payloadBytes: 110,
      place:
        "a new file or schema for each run; files and the servers' data are on the disk, in bench/results/tmp",
    },
    cases: cases.flatMap((one) => rowsOf(one, systems[one.database], rounds, figures)),
  };
}

/** Without figures the case is told all the same, with what kept it from having any. */
function rowsOf(one, systems, rounds, { found, failures, seconds }) {
  const bySystem = (/** @type {(key: string) => unknown} */ take) =>
    Object.fromEntries(
      systems.flatMap((system) => {
        const taken = take(keyOf(one, system));
        return taken === undefined ? [] : [[system.name, taken]];
      }),
    );
  const names = new Set(systems.flatMap((system) => [...(found.get(keyOf(one, system))?.keys() ?? [])]));
  return (names.size === 0 ? [""] : [...names]).map((name) => ({
    id: name === "" ? one.id : `${one.id}: ${name}`,
    workload: one.workload,
    database: one.database,
    title: name === "" ? one.title : `${one.title}: ${name}`,
    unit: one.units?.[name] ?? one.unit,
    rounds: roundsOf(one, rounds),
    settings: one.settings,
    figures: bySystem((key) => found.get(key)?.get(name)),
    failures: bySystem((key) => failures.get(key)),
    seconds: bySystem((key) => seconds.get(key)),
  }));
}

/** To a microsecond, and a list of numbers in one line. @param {Report} report */
export function textOf(report) {
  const text = JSON.stringify(
    report,
    (_, value) => (typeof value === "number" ? Math.round(value * 1_000) / 1_000 : value),
    1,
  );
  return `${text.replaceAll(/\[\s+(-?[\d.]+(?:,\s+-?[\d.]+)*)\s+\]/g, (list) => list.replaceAll(/\s+/g, ""))}\n`;
}

/**
 * Where and when, a line for each machine; of a run in parts also what.
 *
 * @param {Pick<Report, "parts" | "machine" | "startedAt" | "servers">} report
 */
export function placesOf(report) {
  const { parts = [{ ...report, workloads: [] }] } = report;
  const servers = Object.entries(report.servers).map(([name, { version }]) => `${name} ${version}`);
  const places = new Map();
  for (const { machine, startedAt, workloads } of parts) {
    const { cpu, cores, memoryGiB, system, node } = machine;
    const place = [
      `On ${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}, Node ${node.replace("v", "")}`,
      ...servers,
      startedAt.slice(0, 10),
    ].join(", ");
    places.set(place, [...(places.get(place) ?? []), ...workloads]);
  }
  return [...places].map(([place, ids]) =>
    places.size === 1 ? `${place}.` : `${place}: workloads ${ids.join(", ")}.`,
  );
}
