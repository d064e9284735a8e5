// Runs one job whose handler blocks the loop for so many ms. argv: file, ms, maxBlockedMs

import { defineJob } from "leasehold";
import { block, leasehold, renewedOnce, tell } from "./support.js";

const [, , , blockMs, maxBlockedMs] = process.argv;
const job = defineJob({
  name: "blocker",
  async run({ lease }) {
    await renewedOnce(lease);
    tell("blocking");
    block(Number(blockMs));
    tell("unblocked", lease.state);
    return "the blocker's";
  },
});
const worker = leasehold.work([job], { maxBlockedMs: Number(maxBlockedMs) });
worker.on("completed", () => end("completed"));
worker.on("lost", () => end("lost"));

/** @param {string} how */
async function end(how) {
  tell(how);
  await leasehold.close();
  process.disconnect();
}
