// pg-boss with the settings under which it drained fastest: batches of 1,000, four workers a process, notifications.

import { PgBoss } from "pg-boss";
import { versions } from "./versions.js";

/** @type {import("./system.js").System} */
export const pgBoss = {
  name: "pg-boss",
  version: versions["pg-boss"],
  settings: "batchSize 1000, burstWhenBatchFull, localConcurrency 4, LISTEN/NOTIFY",
  jobsToDrain: { default: 60_000 },
  jobsToEnqueue: { default: 1_000 },
  variants: [{ name: "" }],
  atOnce: true,
  unfinished: "select from {schema}.job where name = 'noop' and state < 'completed'",

  async open({ address, schema }) {
    const boss = new PgBoss({ connectionString: address, schema, useListenNotify: true });
    boss.on("error", () => {});
    await boss.start();
    await boss.createQueue("noop", { notify: true }).catch(() => {}); // another process may have made it
    return {
      add: (input) => boss.send("noop", input),
      addMany: (inputs) =>
        boss.insert(
          "noop",
          inputs.map((data) => ({ data })),
        ),
      work: ({ onStart }) =>
        boss.work(
          "noop",
          { batchSize: 1_000, burstWhenBatchFull: true, localConcurrency: 4 },
          async (jobs) => {
            for (const { data } of jobs) onStart(data.n);
          },
        ),
      close: () => boss.stop({ graceful: false }),
    };
  },
};
