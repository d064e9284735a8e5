// Works on jobs `credit`: each takes a while and then credits its account at a fenced destination, once for each job.
// Arguments: address, { data, runMs, concurrency }.

import { defineJob } from "leasehold";
import { sqliteGuard } from "leasehold/destinations/sqlite";
import { openDatabase } from "leasehold/sqlite";
import { given, openLeasehold, tell, tellAll } from "./support.js";

const guard = sqliteGuard(await openDatabase(given.data));
const job = defineJob({
  name: "credit",
  async run({ lease, job: { id } }) {
    await new Promise((resolve) => setTimeout(resolve, given.runMs));
    await guard
      .write(lease, { step: "credit" }, (tx) => tx.query("insert into credit values ($1)", [id]))
      .catch((error) => {
        tell("refused", error.code);
        throw error;
      });
  },
});
const leasehold = openLeasehold();
const worker = leasehold.work([job], { concurrency: given.concurrency });
tellAll(worker);
tell("working");
process.on("message", async () => {
  await worker.stop();
  tell("stopped", worker.counts);
});
