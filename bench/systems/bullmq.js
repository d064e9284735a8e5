// BullMQ on whichever backend.

import { Queue, Worker } from "bullmq";

/**
 * @param {{ connection: unknown, prefix?: string }} where
 * @param {import("bullmq").BackendFactory | undefined} backend undefined for Redis
 * @param {import("bullmq").DefaultJobOptions} [ofJobs]
 * @returns {import("./system.js").Opened}
 */
export function openOn(where, backend, ofJobs = {}) {
  const queue = new Queue("noop", { ...where, defaultJobOptions: ofJobs }, backend);
  queue.on("error", () => {});
  let worker;
  return {
    add: (data) => queue.add("noop", data),
    addMany: (inputs) => queue.addBulk(inputs.map((data) => ({ name: "noop", data }))),
    async work({ concurrency, results, onStart, onDone }) {
      const run = async ({ data }) => {
        const ending = onStart(data.n);
        return results ? data : ending;
      };
      worker = new Worker("noop", run, { ...where, concurrency }, backend);
      worker.on("error", () => {});
      if (onDone !== undefined) worker.on("completed", onDone);
      await worker.waitUntilReady();
    },
    async close() {
      await worker?.close(true);
      await queue.close();
    },
  };
}
