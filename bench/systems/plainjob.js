// plainjob on better-sqlite3. It sets `synchronous=normal` itself; for the other mode we set `full` after it. A worker of
// its runs one job at a time, so there is no concurrency to set, and `add` is synchronous, so that 32 callers are one after
// the other. While jobs are there it does not wait between two; tuned is how often it looks when there were none.

import Database from "better-sqlite3";
import { better, defineQueue, defineWorker } from "plainjob";
import { versions } from "./versions.js";

const silent = { error() {}, warn() {}, info() {}, debug() {} };

/** @type {Omit<import("./system.js").System, "name" | "takesPart" | "open">} */
const common = {
  version: versions.plainjob,
  on: "sqlite",
  doors: ["bulk"],
  jobsToDrain: { full: 3_000, normal: 10_000 },
  atOnce: false,
  concurrency: 1,
};

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    ...common,
    name: "plainjob",
    takesPart: ["enqueue", "drain", "wake-up"],
    pollMs: 1_000,
    open: (place) => open(place, {}),
  },
  {
    ...common,
    name: "plainjob tuned",
    settings: "looks for jobs each 10 ms",
    takesPart: ["wake-up"],
    pollMs: 10,
    open: (place) => open(place, { pollIntervall: 10 }),
  },
];

async function open({ address, mode }, settings) {
  const connection = better(new Database(address));
  const queue = defineQueue({ connection, logger: silent });
  connection.pragma(`synchronous = ${mode}`);
  let worker;
  return {
    add: async (input) => void queue.add("noop", input),
    addMany: async (inputs) => void queue.addMany("noop", inputs),
    work({ onStart, onDone }) {
      const run = async ({ data }) => onStart(JSON.parse(data).n);
      const options = { queue, logger: silent, ...settings };
      worker = defineWorker(
        "noop",
        run,
        onDone === undefined ? options : { ...options, onCompleted: onDone },
      );
      // It rejects when the file was locked for longer than its busy timeout of 5 s, and works no more.
      worker.start().catch(() => process.exit(1));
    },
    async close() {
      await worker?.stop();
      queue.close();
    },
  };
}
