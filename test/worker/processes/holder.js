// Runs one job of a limited queue for ever: its process is to be killed.

import { defineJob } from "leasehold";
import { leasehold, tell } from "./support.js";

const job = defineJob({
  name: "mail",
  run({ lease }) {
    tell("begun", lease.token.line);
    return new Promise(() => {});
  },
});
leasehold.work([job], { concurrency: 1 });
