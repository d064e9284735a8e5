// graphile-worker with the settings under which it drained fastest: jobs taken 2,000 at a time, completions in batches.

import { Logger, makeWorkerUtils, run, WorkerPreset } from "graphile-worker";
import { versions } from "./versions.js";

const logger = new Logger(() => () => {});

/** @type {import("./system.js").System} */
export const graphileWorker = {
  name: "graphile-worker",
  version: versions["graphile-worker"],
  settings: "localQueue.size 2000, completeJobBatchDelay 0, failJobBatchDelay 0",
  jobsToDrain: { default: 100_000 },
  jobsToEnqueue: { default: 1_000 },
  variants: [{ name: "" }],
  atOnce: true,
  concurrency: 10,
  unfinished: "select from {schema}._private_jobs",

  async open({ address, schema }) {
    const utils = await makeWorkerUtils({ connectionString: address, schema, logger });
    await utils.migrate();
    let runner;
    return {
      add: (input) => utils.addJob("noop", input),
      addMany: (inputs) => utils.addJobs(inputs.map((payload) => ({ identifier: "noop", payload }))),
      async work({ concurrency, onStart }) {
        const preset = {
          extends: [WorkerPreset],
          worker: {
            connectionString: address,
            schema,
            concurrentJobs: concurrency,
            localQueue: { size: 2_000 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
            logger,
          },
        };
        runner = await run({
          preset,
          taskList: { noop: (input) => onStart(input.n) },
          logger,
          noHandleSignals: true,
        });
      },
      async close() {
        await runner?.stop();
        await utils.release();
      },
    };
  },
};
