// Works without pause until SIGTERM, then stops.

import { defineJob } from "leasehold";
import { leasehold, tell } from "./support.js";

let ran = 0;
const job = defineJob({
  name: "job",
  async run() {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (++ran === 100) tell("busy");
  },
});
const worker = leasehold.work([job], { concurrency: 20 });
process.once("SIGTERM", async () => {
  await worker.stop();
  tell("stopped", worker.counts);
  await leasehold.close();
  process.disconnect();
});
