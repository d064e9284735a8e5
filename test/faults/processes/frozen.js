// Works on one job `job`, and stops itself once, between a statement's making and its sending. Arguments: address,
// { at, running }: at which of the store's statements, and whether only while the job runs.

import { defineJob } from "leasehold";
import { given, openLeasehold, tellAll } from "./support.js";

/** @type {((value: unknown) => void) | undefined} */
let finish;
let isOver = false;
const leasehold = openLeasehold({
  trace(name) {
    if (isOver || !given.at.includes(name) || (given.running && finish === undefined)) return;
    isOver = true;
    process.kill(process.pid, "SIGSTOP");
  },
});
const job = defineJob({
  name: "job",
  run: ({ lease }) =>
    new Promise((resolve) => {
      finish = () => resolve(lease.state);
    }),
});
tellAll(leasehold.work([job], { concurrency: 1, renewer: "inline" }));
process.on("message", () => finish?.(undefined));
