// Leasehold as built in dist/, on whichever store.

import { createRequire } from "node:module";
import { defineJob, Leasehold } from "../../dist/index.js";
import { watch } from "./watched.js";

export const { version } = createRequire(import.meta.url)("../../package.json");

/** Where a case measures parts of it, without a queue in a database. @type {Partial<import("./system.js").System>[]} */
export const systems = [{ name: "leasehold", version, takesPart: [], doors: [] }];

/**
 * @param {import("../../dist/index.js").Store} store
 * @param {{ watched?: boolean }} [options]
 * @returns {Promise<import("./system.js").Opened>}
 */
export async function openOn(store, { watched = false } = {}) {
  const seen = watched ? watch(store) : undefined;
  const client = new Leasehold({ store });
  await client.open();
  const job = (run) => defineJob({ name: "noop", run });
  const noop = job(() => {});
  return {
    seen,
    add: (input) => client.enqueue(noop, input),
    addMany: (inputs) => client.enqueueMany(inputs.map((input) => ({ job: noop, input }))),
    addIn: (tx, input) => client.enqueue(noop, input, { tx }),
    work({ concurrency, results, pollMs, queues, onStart, onDone, onReclaim }) {
      const run = ({ input }) => {
        const ending = onStart(input.n);
        return results ? input : ending;
      };
      const asked = { concurrency, ...(queues && { queues }), ...(pollMs !== undefined && { pollMs }) };
      const worker = client.work([job(run)], asked);
      if (onDone !== undefined) worker.on("completed", onDone);
      if (onReclaim !== undefined)
        worker.on("started", ({ previous }) => previous && onReclaim(previous.endedAgoMs));
    },
    close: () => client.close(),
  };
}
