// A process of its own for tests on one SQLite file. Arguments: what to do, the file, and a number.

import { systemWorld } from "../../dist/clock/system.js";
import { loadDriver } from "../../dist/stores/sqlite/driver.js";
import { sqlite } from "../../dist/stores/sqlite/index.js";
import { loadMigrations } from "../../dist/stores/sqlite/sql.js";

const [, , task, path = "", number = "0"] = process.argv;
const world = systemWorld();
const CALL = { timeoutMs: 20_000 };

if (task === "enqueue") {
  const store = sqlite(path);
  const job = () => ({
    jobId: world.ids.jobId(),
    mayRepeat: false,
    name: "job",
    queue: "queue",
    priority: 0,
    due: { delayMs: 0 },
    leaseMs: 30_000,
    maxAttempts: 3,
    maxRunMs: null,
    backoff: null,
    resource: null,
    unique: null,
    input: "{}",
  });
  await store.enqueue(Array.from({ length: Number(number) }, job), CALL);
  await store.close();
  if (process.connected) process.disconnect();
} else if (task === "drain") {
  const store = sqlite(path);
  const owner = world.ids.owner();
  let completed = 0;
  for (;;) {
    const { jobs } = await store.claim({ owner, queues: ["queue"], limit: 25, takeover: true }, CALL);
    if (jobs.length === 0) break;
    const settlements = jobs.map(({ job }) => ({
      operation: /** @type {const} */ ("complete"),
      fence: { jobId: job.jobId, owner, generation: job.generation },
      result: null,
    }));
    const answers = await store.settle(settlements, CALL);
    completed += answers.filter(({ outcome }) => outcome === "applied").length;
  }
  await store.close();
  process.send?.({ completed }, () => process.disconnect());
} else if (task === "die") {
  const { Database } = await loadDriver();
  const store = sqlite(path);
  await store.open();
  const database = new Database(path);
  database.exec("create table written (n integer)");
  for (let n = 0; n < Number(number); n += 1) database.exec(`insert into written values (${n})`);
  process.kill(process.pid, "SIGKILL");
} else if (task === "half-migrate") {
  const { Database } = await loadDriver();
  const database = new Database(path);
  database.exec("pragma journal_mode = wal");
  database.exec("begin immediate");
  database.exec(loadMigrations()[0]?.sql ?? "");
  process.send?.("in the middle");
  setInterval(() => {}, 1_000);
}
