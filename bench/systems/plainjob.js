// plainjob on better-sqlite3. It sets `synchronous=normal` itself; for the other mode we set `full` after it. A worker of
// its runs one job at a time, so there is no concurrency to set, and `add` is synchronous, so that 32 callers are one after the other.

import Database from "better-sqlite3";
import { better, defineQueue, defineWorker } from "plainjob";
import { versions } from "./versions.js";

const silent = { error() {}, warn() {}, info() {}, debug() {} };

/** @type {import("./system.js").System} */
export const plainjob = {
  name: "plainjob",
  version: versions.plainjob,
  jobsToDrain: { full: 2_000, normal: 6_000 },
  jobsToEnqueue: { full: 1_000, normal: 3_000 },
  variants: [
    { name: "", pollMs: 1_000, samples: 5, only: "normal" },
    { name: "polling each 10 ms", pollMs: 10 },
  ],
  atOnce: false,

  async open({ address, mode, variant }) {
    const connection = better(new Database(address));
    const queue = defineQueue({ connection, logger: silent });
    connection.pragma(`synchronous = ${mode}`);
    let worker;
    return {
      add: async (input) => void queue.add("noop", input),
      addMany: async (inputs) => void queue.addMany("noop", inputs),
      work({ onStart, onDone }) {
        const run = async ({ data }) => onStart(JSON.parse(data).n);
        const options = { queue, logger: silent, pollIntervall: variant?.pollMs ?? 1_000 };
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
  },
};
