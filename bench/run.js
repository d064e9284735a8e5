// Runs every measure on every system in turns, prints a table, and writes all figures to results/.
//
//   npm run bench -- [--rounds 3] [--on sqlite,postgres] [--only drain,enqueue,wake-up] [--out FILE]

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { arch, cpus, platform, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

if (!existsSync(new URL("./node_modules/", import.meta.url))) {
  console.error("The systems to measure beside are not installed: run `npm ci --prefix bench` first.");
  process.exit(2);
}
const { systems } = await import("./systems/system.js");
const { cases } = await import("./cases.js");
const { tableOf } = await import("./table.js");
const { startServer } = await import("./measures/server.js");

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    on: { type: "string", default: "sqlite,postgres" },
    only: { type: "string", default: "drain,enqueue,wake-up" },
    out: { type: "string" },
  },
});
const TRIES = 3;
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error("--rounds: give a whole number from 1 up.");
  process.exit(2);
}
const databases = values.on.split(",");
const chosen = cases.filter(
  ({ measure, database }) => values.only.split(",").includes(measure) && databases.includes(database),
);
if (chosen.length === 0) {
  console.error("--on: sqlite, postgres or both; --only: drain, enqueue, wake-up or several.");
  process.exit(2);
}
const server = databases.includes("postgres") ? await startServer() : undefined;

const startedAt = new Date();
/** @type {Map<string, number[][]>} each round's figures, by case and system */
const figures = new Map();
/** @type {Map<string, string[]>} what ended runs that were then repeated */
const failures = new Map();
for (let round = 0; round < rounds; round++) {
  for (const one of chosen) {
    // In turns, and every other round the other way about: what else the machine does meets all of them.
    const present = systems[one.database];
    const turns = round % 2 === 0 ? present : present.toReversed();
    for (const system of turns) {
      const { database, mode } = one;
      const run = one.on(system, { database, mode, server });
      if (run === undefined) continue;
      progress(`round ${round + 1}/${rounds}: ${one.title}, ${system.name}, ${mode}`);
      const key = `${one.id} ${system.name}`;
      const figure = await tried(run, key);
      if (figure !== undefined) figures.set(key, [...(figures.get(key) ?? []), [figure].flat()]);
    }
  }
}
progress("");

const report = {
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
    databases.map((database) => [
      database,
      systems[database].map(({ name, version, settings = "defaults" }) => ({ name, version, settings })),
    ]),
  ),
  ...(server === undefined ? {} : { postgres: { version: server.version, settings: server.settings } }),
  method: {
    rounds,
    order: "in turns, every other round the other way about; medians over rounds; quantiles over all samples",
    payloadBytes: 110,
    place:
      "a new file or schema for each run; files and the server's data are on the disk, in bench/results/tmp",
  },
  cases: chosen.map((one) => ({
    id: one.id,
    database: one.database,
    title: one.title,
    settings: one.settings,
    unit: one.unit,
    figures: Object.fromEntries(
      systems[one.database].flatMap(({ name }) => {
        const found = figures.get(`${one.id} ${name}`);
        return found === undefined ? [] : [[name, found]];
      }),
    ),
    failures: Object.fromEntries(
      systems[one.database].flatMap(({ name }) => {
        const found = failures.get(`${one.id} ${name}`);
        return found === undefined ? [] : [[name, found]];
      }),
    ),
  })),
};

await server?.stop();
for (const database of databases) console.log(`${tableOf(report, database)}\n`);
const out = values.out ?? defaultFile();
writeFileSync(out, `${JSON.stringify(report, null, 1)}\n`);
console.log(`all figures: ${out}`);
process.exit(0);

/** A run in which a process died says nothing about speed: it is noted and repeated. */
async function tried(run, key) {
  for (let left = TRIES; left > 0; left--) {
    try {
      return await run();
    } catch (error) {
      failures.set(key, [
        ...(failures.get(key) ?? []),
        error instanceof Error ? error.message : String(error),
      ]);
    }
  }
  return undefined;
}

function defaultFile() {
  const folder = new URL("./results/", import.meta.url);
  mkdirSync(folder, { recursive: true });
  return fileURLToPath(new URL(`${startedAt.toISOString().replaceAll(/[:.]/g, "-")}.json`, folder));
}

/** @param {string} text */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
