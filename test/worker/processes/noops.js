// Runs as many jobs as it is told, and tells what is left of them in the process: node noops.js ADDRESS JOBS

import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { defineJob } from "leasehold";
import { args, leasehold, tell } from "./store.js";

const PIECE = 5_000;
setFlagsFromString("--expose-gc");
/** @type {() => void} */
const collect = runInNewContext("gc");

/** @type {string[]} */
const warnings = [];
process.on("warning", ({ name, message }) => warnings.push(`${name}: ${message}`));

const shuttingDown = new AbortController();
const job = defineJob({
  name: "job",
  run({ signal }) {
    signal.addEventListener("abort", () => {});
  },
});

/** Drains so many jobs under one signal that lives longer than all of them. @param {number} jobs */
async function run(jobs) {
  for (let left = jobs; left > 0; left -= PIECE) {
    await leasehold.enqueueMany(Array.from({ length: Math.min(left, PIECE) }, () => ({ job })));
    await leasehold.drain([job], { concurrency: 50, signal: shuttingDown.signal });
  }
}

async function left() {
  await new Promise((resolve) => setTimeout(resolve, 100));
  collect();
  return {
    heapBytes: process.memoryUsage().heapUsed,
    listeners:
      getEventListeners(shuttingDown.signal, "abort").length +
      process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
    resources: process.getActiveResourcesInfo().length,
  };
}

await run(PIECE); // until everything is compiled and every pool is filled
const before = await left();
await run(Number(args[0]));
tell("left", { before, after: await left(), warnings });
await leasehold.close();
process.disconnect();
