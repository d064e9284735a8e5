import { drain } from "./drain.js";

const PROCESSES = 4;
const CONCURRENCY = 10;

/**
 * The longest call that a worker made to the store while several processes drained one file, ms: waiting for the write lock
 * and the transaction itself, so that the wait alone was shorter.
 *
 * @param {import("../systems/system.js").System} system
 * @param {import("../cases.js").Setting} setting
 */
export async function longestWrite(system, setting) {
  let longestMs = 0;
  await drain(system, setting, {
    processes: PROCESSES,
    concurrency: CONCURRENCY,
    watched: true,
    onEnd: async (workers) => {
      longestMs = Math.max(...(await workers.seen()).map(({ longestWriteMs }) => longestWriteMs));
    },
  });
  return longestMs;
}
