// Sidequest's engine on PostgreSQL, running jobs in the worker's own process: by default each would go to another process
// and from there to a thread of its own. An engine is one for its process, and looks for jobs each tenth of a second, also
// while it works when all places were taken; nothing tells it. It has no call for many jobs.

import { fileURLToPath } from "node:url";
import { configureLogger } from "@sidequest/core";
import { Engine } from "@sidequest/engine";
import { Noop } from "./sidequest-jobs.js";
import { versions } from "./versions.js";

const LOGGER = { level: "error", json: false };
configureLogger(LOGGER); // it says something before it has looked at what it is given

const CONFIG = {
  fork: false,
  runner: "inline",
  manualJobResolution: true,
  jobsFilePath: fileURLToPath(new URL("./sidequest-jobs.js", import.meta.url)),
  gracefulShutdown: false,
  logger: LOGGER,
};

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    name: "sidequest",
    version: versions["@sidequest/engine"],
    settings: "fork false, runner inline, the queue's concurrency that of the case",
    on: "postgres",
    takesPart: ["enqueue", "drain"],
    doors: [],
    jobsToDrain: { default: 1_000 },
    atOnce: true,
    unfinished: "select from {schema}.sidequest_jobs where state in ('waiting', 'claimed', 'running')",
    async open({ address, schema }) {
      const engine = new Engine();
      const config = {
        ...CONFIG,
        backend: {
          driver: "@sidequest/postgres-backend",
          config: { connection: address, searchPath: [schema] },
        },
      };
      await engine.configure(config);
      const add = (input) => engine.build(Noop).enqueue(input);
      return {
        add,
        addMany: (inputs) => Promise.all(inputs.map(add)),
        work({ concurrency, onStart }) {
          Noop.onStart = onStart;
          const queues = [{ name: "default", concurrency }];
          return engine.start({ ...config, queues, maxConcurrentJobs: concurrency });
        },
        close: () => engine.close(),
      };
    },
  },
];
