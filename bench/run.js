// Runs measures on systems in turns, prints tables, and writes all figures to results/.
//
//   npm run bench -- quick                 a glance: one round of some cases with fewer jobs, under four minutes
//   npm run bench -- full                  all of it, five rounds
//   … [--only B2,B9] [--on sqlite,postgres] [--rounds N] [--out FILE]

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

if (!existsSync(new URL("./node_modules/", import.meta.url))) {
  console.error("The systems to measure beside are not installed: run `npm ci --prefix bench` first.");
  process.exit(2);
}
const { cases: all } = await import("./cases.js");
const { startRedis } = await import("./measures/redis.js");
const { startServer } = await import("./measures/server.js");
const { FULL_ROUNDS, reportOf, textOf } = await import("./report.js");
const { systemsOn } = await import("./systems/system.js");
const { toldOf } = await import("./told.js");
const { measured } = await import("./turns.js");

const KINDS = {
  quick: { rounds: 1, scale: 0.2 },
  full: { rounds: FULL_ROUNDS, scale: 1 },
};
const DATABASES = ["sqlite", "postgres", "redis", "none"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string" },
    on: { type: "string", default: DATABASES.join(",") },
    only: { type: "string", default: "" },
    out: { type: "string" },
  },
});
const [kind = "quick"] = positionals;
if (positionals.length > 1 || !Object.hasOwn(KINDS, kind)) refuse("Say `quick` or `full`.");
const { scale } = KINDS[kind];
const rounds = Number(values.rounds ?? KINDS[kind].rounds);
if (!Number.isInteger(rounds) || rounds < 1) refuse("--rounds: give a whole number from 1 up.");
const only = values.only.split(",").filter((name) => name !== "");
const cases = all.filter(
  (one) =>
    values.on.split(",").includes(one.database) &&
    (only.length === 0 || only.some((name) => `${one.id} `.startsWith(`${name} `))) &&
    (kind === "full" || one.inQuick),
);
if (cases.length === 0) {
  const known = [...new Set(all.map(({ workload }) => workload))].join(", ");
  refuse(`No such case. --on: ${DATABASES.join(", ")}. --only: ${known}, or the beginning of a case's id.`);
}

// Only what is complete is called full, and told in the README.
const isComplete =
  only.length === 0 && DATABASES.every((one) => values.on.split(",").includes(one)) && rounds >= FULL_ROUNDS;
const run = kind === "full" && !isComplete ? "part" : kind;

const startedAt = new Date();
const databases = DATABASES.filter((database) => cases.some((one) => one.database === database));
const isOnServers = databases.includes("postgres") || databases.includes("redis");
const server = databases.includes("postgres") ? await startServer() : undefined;
const redis = isOnServers ? await startRedis() : undefined;
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => void stopped().then(() => process.exit(130)));
let report;
try {
  const { systems, notRun } = await present();
  const figures = await measured(cases, systems, {
    rounds,
    settingOf: ({ database, settings }) => ({
      database,
      mode: String(settings.mode ?? "default"),
      scale,
      ...(database === "postgres" ? { server, redis } : {}),
      ...(database === "redis" ? { redis } : {}),
    }),
    onTurn: progress,
  });
  const servers = { ...(server && { PostgreSQL: told(server) }), ...(redis && { Redis: told(redis) }) };
  report = reportOf({ startedAt, run, rounds, only, cases, systems, servers, notRun }, figures);
} finally {
  progress("");
  await stopped();
}

if (kind === "quick") console.log("A glance, not a measurement: one round with fewer jobs.\n");
console.log(`${toldOf(report)}\n`);
const out = values.out ?? defaultFile();
writeFileSync(out, textOf(report));
console.log(`all figures: ${out}`);
process.exit(0);

/** The systems that can be run here, by database, and why others cannot. */
async function present() {
  const notRun = [];
  const systems = {};
  for (const database of databases) {
    systems[database] = (await systemsOn(database)).filter((system) => {
      if (system.on !== "redis" || redis !== undefined) return true;
      notRun.push(`${system.name}: there is no redis-server to start`);
      return false;
    });
  }
  return { systems, notRun };
}

async function stopped() {
  await Promise.allSettled([server?.stop(), redis?.stop()]);
}

function told({ version, settings }) {
  return { version, settings };
}

function defaultFile() {
  const folder = new URL("./results/", import.meta.url);
  mkdirSync(folder, { recursive: true });
  const name = `${startedAt.toISOString().replaceAll(/[:.]/g, "-")}-${run}.json`;
  return fileURLToPath(new URL(name, folder));
}

/** @param {string} why @returns {never} */
function refuse(why) {
  console.error(why);
  process.exit(2);
}

/** @param {string} text */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
