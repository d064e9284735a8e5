// pg-boss as it comes, where that says something: its workers take one job and look again after two seconds, half a job a
// second for each, which is not drained with. And with the settings under which it drained fastest: batches of 1,000, four
// workers a process, notifications.

import { PgBoss } from "pg-boss";
import { versions } from "./versions.js";

/** @type {Omit<import("./system.js").System, "name" | "takesPart" | "open">} */
const common = {
  version: versions["pg-boss"],
  on: "postgres",
  doors: ["bulk", "tx"],
  jobsToDrain: { default: 60_000 },
  atOnce: true,
  unfinished: "select from {schema}.job where name = 'noop' and state < 'completed'",
};

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    ...common,
    name: "pg-boss",
    takesPart: ["enqueue", "wake-up"],
    pollMs: 2_000,
    open: (place) => open(place, { notify: false, working: {} }),
  },
  {
    ...common,
    name: "pg-boss tuned",
    settings:
      "batchSize 1000, burstWhenBatchFull, localConcurrency 4, LISTEN/NOTIFY; perJobResults for results",
    takesPart: ["drain", "wake-up"],
    doors: ["bulk", "tx", "results"],
    concurrency: 4,
    open: (place) =>
      open(place, {
        notify: true,
        working: { batchSize: 1_000, burstWhenBatchFull: true, localConcurrency: 4 },
      }),
  },
];

async function open({ address, schema }, { notify, working }) {
  const boss = new PgBoss({
    connectionString: address,
    schema,
    ...(notify ? { useListenNotify: true } : {}),
  });
  boss.on("error", () => {});
  await boss.start();
  await boss.createQueue("noop", notify ? { notify } : {}).catch(() => {}); // another process may have made it
  return {
    add: (input) => boss.send("noop", input),
    addMany: (inputs) =>
      boss.insert(
        "noop",
        inputs.map((data) => ({ data })),
      ),
    addIn: (client, input) =>
      boss.send("noop", input, { db: { executeSql: (text, values) => client.query(text, values) } }),
    work: ({ onStart, results }) =>
      boss.work("noop", results ? { ...working, perJobResults: true } : working, async (jobs) => {
        for (const { data } of jobs) onStart(data.n);
        return results ? jobs.map(({ id, data }) => ({ id, status: "completed", output: data })) : undefined;
      }),
    close: () => boss.stop({ graceful: false }),
  };
}
