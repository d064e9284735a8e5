// Leasehold as built in dist/, on whichever store.

import { createRequire } from "node:module";
import { defineJob, Leasehold } from "../../dist/index.js";

export const { version } = createRequire(import.meta.url)("../../package.json");

/** @param {import("../../dist/index.js").Store} store @returns {Promise<import("./system.js").Opened>} */
export async function openOn(store) {
  const client = new Leasehold({ store });
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
}
