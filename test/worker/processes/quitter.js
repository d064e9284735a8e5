// Runs slow jobs, and one whose handler ends the process once the others have begun.

import { defineJob } from "leasehold";
import { leasehold, tell } from "./support.js";

let begun = 0;
const slow = defineJob({
  name: "slow",
  queue: "q",
  run() {
    begun++;
    return new Promise(() => {});
  },
});
const quit = defineJob({
  name: "quit",
  queue: "q",
  async run() {
    while (begun < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    tell("quitting", begun);
    process.exit(3);
  },
});
leasehold.work([slow, quit]);
