// Dies when it has been told of a claim, before a handler is called.

import { defineJob } from "leasehold";
import { openLeasehold } from "./support.js";

const job = defineJob({ name: "job", run() {} });
const worker = openLeasehold().work([job], { renewer: "inline" });
worker.on("started", () => process.kill(process.pid, "SIGKILL"));
