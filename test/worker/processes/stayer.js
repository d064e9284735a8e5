// Runs jobs, and never ends one, or ends each at once: node stayer.js ADDRESS stays|returns

import { defineJob } from "leasehold";
import { args, leasehold, tell } from "./store.js";

const [how] = args;

const job = defineJob({
  name: "job",
  leaseMs: 2_000,
  run(/** @type {any} */ { job: { id, previous }, lease }) {
    tell("begun", { id, owner: lease.token.owner, previous });
    return how === "stays" ? new Promise(() => {}) : undefined;
  },
});
leasehold.work([job], { concurrency: 10 });
