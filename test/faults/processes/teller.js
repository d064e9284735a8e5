// Works on the jobs `job` of a store and tells what happens. A run takes as many ms as its input says; with a negative one
// until the test says "finish". Signals are ignored. The test may also say "stop" and "close".

import { defineJob } from "leasehold";
import { given, openLeasehold, tell, tellAll } from "./support.js";

/** @type {(() => void)[]} */
const unfinished = [];
const job = defineJob({
  name: "job",
  run: (/** @type {{ input: number }} */ { input }) =>
    new Promise((/** @type {(value: void) => void} */ resolve) => {
      if (input < 0) unfinished.push(resolve);
      else setTimeout(resolve, input);
    }),
});
const leasehold = openLeasehold();
const worker = leasehold.work([job], given);
tellAll(worker);
tell("working");

process.on("message", async (order) => {
  if (order === "finish") for (const finish of unfinished.splice(0)) finish();
  if (order !== "stop" && order !== "close") return;
  const ended = order === "stop" ? worker.stop() : leasehold.close();
  tell("stopping");
  await ended;
  tell("stopped", worker.counts);
});
