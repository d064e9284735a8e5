// The main job on real input: the SHA-256 and line count of every file below a folder, one job a file, two worker
// processes. One of them is frozen in the middle for longer than its leases; the other takes its jobs over, and what the
// frozen one writes when it wakes is refused.
//
//   node examples/file-checksums/start.js [folder] [--all] [--store FILE | --store postgres://…]
//
// Killed at any moment and started again it goes on where it was: the jobs' ids come from the scan and the file's path,
// so a file is one job however often it is enqueued.

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Leasehold } from "leasehold";
import { v5 } from "uuid";
import { beginJob, checksumJob, endJob, LEASE_MS } from "./jobs.js";
import { absolute, placeAt } from "./place.js";
import { runTwoWorkers } from "./two-workers.js";

const FEW = 5_000;

const { folder, limit, store } = readArguments();
const place = placeAt(store);
const leasehold = new Leasehold({ store: place.store });
const beginScan = beginJob(place);
const endScan = endJob(place);
const scan = await openScan();
const job = checksumJob(place, scan);

const found = await filesBelow(folder);
const files = found.slice(0, limit);
const answers = await leasehold.enqueueMany(
  files.map((path) => ({ job, input: { path }, jobId: v5(path, scan) })),
);
const before = answers.filter(
  (answer) => answer.outcome === "repeated" && answer.state === "completed",
).length;
console.log(
  `${number(files.length)} files below ${folder}` +
    (found.length > limit ? ` (of ${number(found.length)}; --all takes all)` : "") +
    (before > 0 ? `, ${number(before)} of them done in an earlier run` : ""),
);

const beganMs = performance.now();
const toDo = files.length - before;
const seen =
  toDo === 0 ? undefined : await runTwoWorkers({ store, scan, freezeAfter: Math.floor(toDo / 5), allEnded });
const seconds = (performance.now() - beganMs) / 1000;

const { completed, failed } = await counts();
const written = await readResults();
await leasehold.close();
report();

/** Goes on with the last scan of this folder, unless that one came to its end. */
async function openScan() {
  const { jobs } = await leasehold.list({ name: beginScan.name }, { limit: 100 });
  const last = jobs.find(({ input }) => /** @type {{ folder: string }} */ (input).folder === folder);
  const end = last === undefined ? undefined : await leasehold.get(endOf(last.jobId));
  const id = last === undefined || end?.state === "completed" ? randomUUID() : last.jobId;
  await leasehold.enqueue(beginScan, { folder }, { jobId: id });
  await leasehold.drain([beginScan]);
  return id;
}

/** @param {string} scan */
function endOf(scan) {
  return v5("end", scan);
}

async function readResults() {
  await leasehold.enqueue(endScan, { scan }, { jobId: endOf(scan) });
  await leasehold.drain([endScan]);
  return /** @type {import("./jobs.js").Written} */ (
    await leasehold.result(endOf(scan), { timeoutMs: 30_000 })
  );
}

async function counts() {
  const all = await leasehold.counts();
  return all.find(({ queue }) => queue === job.queue) ?? { completed: 0, failed: 0, cancelled: 0 };
}

async function allEnded() {
  const { completed, failed, cancelled } = await counts();
  if (process.stdout.isTTY) process.stdout.write(`\r${number(completed)} of ${number(files.length)} \r`);
  return completed + failed + cancelled >= files.length;
}

function report() {
  const lines = [
    `${number(written.files)} files, ${number(written.bytes)} bytes, ${number(written.lines)} lines`,
    ...(seen === undefined ? ["Nothing was left to do."] : reportOfRun(seen)),
  ];
  const checks = [
    { what: `no job failed (${failed} did)`, ok: failed === 0 },
    {
      what: `every file has exactly one row: ${number(written.rows)} rows for ${number(files.length)} files`,
      ok: written.rows === files.length && written.files === files.length && completed === files.length,
    },
    ...(seen !== undefined && seen.caught.length > 0
      ? [
          {
            what: "the frozen worker's late writes were refused",
            ok: seen.refused.length >= seen.caught.length,
          },
        ]
      : []),
  ];
  for (const line of lines) console.log(line);
  for (const { what, ok } of checks) console.log(`${ok ? "ok    " : "FAILED"} ${what}`);
  for (const path of written.twice) console.log(`       twice: ${path}`);
  if (checks.some(({ ok }) => !ok)) process.exitCode = 1;
}

/** @param {import("./two-workers.js").Seen} seen */
function reportOfRun({ reclaimed, refused, caught, frozenMs }) {
  const SHOWN = 5;
  return [
    `${number(toDo)} jobs in ${seconds.toFixed(1)} s with two workers: ${number(Math.round(toDo / seconds))} jobs/s`,
    caught.length === 0
      ? "No worker was frozen: there was too little left to do."
      : `Worker 1 was frozen for ${(frozenMs / 1000).toFixed(1)} s, its leases are ${LEASE_MS / 1000} s long`,
    `${number(reclaimed)} jobs were reclaimed when the leases of their owners had ended`,
    `${refused.length} late writes were refused:`,
    ...refused
      .slice(0, SHOWN)
      .map(
        (late) => `  generation ${late.generation}, current ${late.current}: ${relative(folder, late.path)}`,
      ),
    ...(refused.length > SHOWN ? [`  and ${refused.length - SHOWN} more`] : []),
  ];
}

/**
 * The regular files below a folder, in an order that two listings agree on; our own database is none of them.
 *
 * @param {string} folder
 */
async function filesBelow(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.startsWith(store))
    .sort();
}

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { all: { type: "boolean" }, store: { type: "string", default: "file-checksums.db" } },
  });
  const folder = resolve(positionals[0] ?? "node_modules");
  if (positionals.length > 1 || !existsSync(folder)) {
    console.error(positionals.length > 1 ? "Give one folder." : `There is no folder ${folder}.`);
    process.exit(2);
  }
  return { folder, limit: values.all ? Number.POSITIVE_INFINITY : FEW, store: absolute(values.store) };
}

/** @param {number} count */
function number(count) {
  return count.toLocaleString("en");
}
