// A worker on the test's file that knows nothing of its schedules' jobs; it tells each slot that it has enqueued.

import { defineJob } from "leasehold";
import { leasehold, tell } from "./support.js";

const other = defineJob({ name: "other", run() {} });
const worker = leasehold.work([other], { renewer: "inline" });
worker.on("scheduled", ({ slotMs }) => tell("scheduled", slotMs));
tell("working");
process.on("disconnect", () => process.exit());
