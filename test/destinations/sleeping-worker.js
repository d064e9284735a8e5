// A worker that falls asleep between its lease's check and the write of its effect. Arguments: the file of the jobs, the
// file of the data.

import { systemWorld } from "../../dist/clock/system.js";
import { sqliteGuard } from "../../dist/destinations/sqlite/index.js";
import { defineJob, Leasehold } from "../../dist/index.js";
import { openDatabase, sqlite } from "../../dist/stores/sqlite/index.js";

const [jobs = "", data = ""] = process.argv.slice(2);
const world = systemWorld();
let isAsleep = false;
const guard = sqliteGuard({
  database: await openDatabase(data),
  world: {
    ...world,
    reached(point) {
      if (point !== "before-effect-send" || isAsleep) return;
      isAsleep = true;
      process.kill(process.pid, "SIGSTOP");
    },
  },
});
const invoice = defineJob({
  name: "invoice",
  async run({ lease }) {
    process.send?.({ what: "running", detail: lease.token });
    try {
      await guard.write(lease, { step: "write" }, (tx) => tx.query("insert into invoice values ('asleep')"));
    } catch (error) {
      process.send?.({ what: "thrown", detail: { ...Object(error), message: String(error) } });
      throw error;
    }
  },
});
new Leasehold({ store: sqlite(jobs), log: () => {} }).work([invoice]);
