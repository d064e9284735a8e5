// Runs jobs, and stays with each until its signal fires, or ends it at once: node stayer.js ADDRESS stays|returns

import { defineJob } from "leasehold";
import { args, leasehold, tell } from "./store.js";

const [how] = args;

const job = defineJob({
  name: "job",
  leaseMs: 2_000,
  run(/** @type {any} */ { job: { id, previous }, lease, signal }) {
    tell("begun", { id, owner: lease.token.owner, previous });
    return how === "stays" ? new Promise((resolve) => signal.addEventListener("abort", resolve)) : undefined;
  },
});
const worker = leasehold.work([job], { concurrency: 10 });
worker.on("lost", ({ job: { id } }) => tell("lost", id));
