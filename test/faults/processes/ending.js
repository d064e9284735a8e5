// Works on jobs `job`; when all of them run, its process stands still, and they return in the turn in which it goes on.

import { defineJob } from "leasehold";
import { given, openLeasehold, tell, tellAll } from "./support.js";

let running = 0;
/** @type {(() => void)[]} */
const ends = [];
const job = defineJob({
  name: "job",
  run: () =>
    new Promise((/** @type {(value: void) => void} */ resolve) => {
      ends.push(resolve);
      if (++running === given.jobs) setTimeout(stop, 10);
    }),
});
function stop() {
  process.kill(process.pid, "SIGSTOP");
  for (const end of ends) end();
}
const worker = openLeasehold().work([job], { concurrency: given.jobs });
tellAll(worker);
process.on("message", async () => {
  await worker.stop();
  tell("stopped", worker.counts);
});
