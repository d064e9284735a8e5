// Leasehold as built in dist/.

import { createRequire } from "node:module";
import { defineJob, Leasehold } from "../../dist/index.js";
import { sqlite } from "../../dist/stores/sqlite/index.js";

const require = createRequire(import.meta.url);

/** @type {import("./system.js").System} */
export const leasehold = {
  name: "leasehold",
  version: require("../../package.json").version,
  jobsToDrain: { full: 40_000, normal: 60_000 },
  jobsToEnqueue: { full: 1_000, normal: 3_000 },
  variants: [{ name: "" }],
  atOnce: true,

  async open({ path, synchronous }) {
    const client = new Leasehold({ store: sqlite({ path, synchronous }) });
    await client.open();
    const job = (onStart) => defineJob({ name: "noop", run: ({ input }) => onStart(input.n) });
    const noop = job(() => {});
    return {
      add: (input) => client.enqueue(noop, input),
      addMany: (inputs) => client.enqueueMany(inputs.map((input) => ({ job: noop, input }))),
      work({ concurrency, onStart, onDone }) {
        const worker = client.work([job(onStart)], { concurrency });
        if (onDone !== undefined) worker.on("completed", onDone);
      },
      close: () => client.close(),
    };
  },
};
