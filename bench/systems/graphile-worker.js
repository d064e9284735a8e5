// graphile-worker as it comes, and with the settings under which it drained fastest: jobs taken 2,000 at a time,
// completions in batches, ten at once.

import { Logger, makeWorkerUtils, run, WorkerPreset } from "graphile-worker";
import { versions } from "./versions.js";

const logger = new Logger(() => () => {});

/** @type {Omit<import("./system.js").System, "name" | "takesPart" | "jobsToDrain" | "open">} */
const common = {
  version: versions["graphile-worker"],
  on: "postgres",
  doors: ["bulk", "tx", "lasting"],
  atOnce: true,
  unfinished: "select from {schema}._private_jobs",
  row: {
    table: "{schema}._private_jobs",
    waiting: "select from {schema}._private_jobs where is_available and run_at <= now()",
    given: {
      payload: "json_build_object('n', g.n, 'text', s.payload ->> 'text')",
      // One after the other, and all of them due.
      run_at: "s.run_at + g.n * interval '1 microsecond' - interval '1 minute'",
      created_at: "s.created_at",
      updated_at: "s.updated_at",
    },
  },
};

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    ...common,
    name: "graphile-worker",
    settings: "defaults but for the concurrency, which would be 1",
    takesPart: ["enqueue", "drain", "wake-up"],
    jobsToDrain: { default: 10_000 },
    open: (place) => open(place, ({ concurrency }) => ({ concurrency })),
  },
  {
    ...common,
    name: "graphile-worker tuned",
    settings: "10 at once, localQueue.size 2000, completeJobBatchDelay 0, failJobBatchDelay 0",
    takesPart: ["drain", "wake-up"],
    jobsToDrain: { default: 100_000 },
    isFastest: true,
    concurrency: 10,
    open: (place) =>
      open(place, ({ concurrency, address, schema }) => ({
        preset: {
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
        },
      })),
  },
];

async function open({ address, schema }, settings) {
  const utils = await makeWorkerUtils({ connectionString: address, schema, logger });
  await utils.migrate();
  let runner;
  return {
    add: (input) => utils.addJob("noop", input),
    addMany: (inputs) => utils.addJobs(inputs.map((payload) => ({ identifier: "noop", payload }))),
    addIn: (client, input) =>
      client.query(`select ${schema}.add_job('noop', payload := $1::json)`, [JSON.stringify(input)]),
    async work({ concurrency, onStart }) {
      const own = settings({ concurrency, address, schema });
      runner = await run({
        ...(own.preset === undefined ? { connectionString: address, schema } : {}),
        ...own,
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
}
