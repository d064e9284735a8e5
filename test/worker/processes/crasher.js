// Works on jobs of which some kill their process, each in its own way: node crasher.js ADDRESS FILE
// Each start is a line of FILE: what is told by message may die with its process.

import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineJob } from "leasehold";
import { args, leasehold } from "./store.js";

const [file = ""] = args;

/** @type {Record<string, () => unknown>} */
const ways = {
  "ends its process": () => process.exit(1),
  "aborts its process": () => process.abort(),
  "is killed": () => process.kill(process.pid, "SIGKILL"),
  "takes all memory"() {
    for (const all = []; ; ) all.push(Array.from({ length: 100_000 }, () => ({})));
  },
  works: () => sleep(20),
};

const job = defineJob({
  name: "job",
  leaseMs: 1_000,
  maxAttempts: 3,
  async run(/** @type {{ input: string, job: { id: string } }} */ { input, job: { id } }) {
    appendFileSync(file, `${id}\n`);
    await ways[input]?.();
  },
});
leasehold.work([job], { concurrency: 4 });
