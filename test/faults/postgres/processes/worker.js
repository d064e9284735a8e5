// Works on the queue of one server until it is told to stop, and tells what happens. Each run takes as long as its input
// says, ms; with a negative one until the worker is told to finish. Signals are ignored.

import { defineJob, Leasehold } from "leasehold";
import { postgres } from "leasehold/postgres";

const [, , connectionString = "", leaseMs, concurrency] = process.argv;

/**
 * @param {string} what
 * @param {unknown} [detail]
 */
function tell(what, detail) {
  process.send?.({ what, detail });
}

/** @type {(() => void)[]} */
const unfinished = [];

// A call is given up long before a frozen server goes on: one that began before and is answered then could still take over.
const leasehold = new Leasehold({
  store: postgres({ connectionString }),
  callTimeoutMs: 1_500,
  log: () => {},
});
const job = defineJob({
  name: "job",
  leaseMs: Number(leaseMs),
  run: (/** @type {{ input: number }} */ { input }) =>
    new Promise((/** @type {(value: void) => void} */ resolve) => {
      if (input < 0) unfinished.push(resolve);
      else setTimeout(resolve, input);
    }),
});
// Longer than any fault lasts: who ignores its signal for so long is stuck, and its lease is left to lapse (W4).
const worker = leasehold.work([job], { concurrency: Number(concurrency), graceMs: 120_000 });
worker
  .on("started", ({ job: { id }, previous }) => tell("started", { id, reclaimed: previous !== undefined }))
  .on("completed", ({ job: { id } }) => tell("completed", id))
  .on("aborted", ({ job: { id } }) => tell("aborted", id))
  .on("lost", ({ job: { id } }) => tell("lost", id))
  .on("idle", () => tell("idle"))
  .on("unreachable", () => tell("unreachable"))
  .on("reachable", () => tell("reachable"));
tell("working", Date.now());
process.on("message", async (order) => {
  if (order === "finish") {
    for (const finish of unfinished) finish();
    return;
  }
  await leasehold.close();
  tell("counts", worker.counts);
  process.disconnect();
});
// The test is gone.
process.on("disconnect", () => process.exit());
