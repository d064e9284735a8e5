// pg-boss as it comes, where that says something: its workers take one job and look again after two seconds, half a job a
// second for each, which is not drained with. And with the settings under which it drained fastest: batches of 1,000, four
// workers a process, notifications.

import { PgBoss } from "pg-boss";
import { versions } from "./versions.js";

/** @type {Omit<import("./system.js").System, "name" | "takesPart" | "open">} */
const common = {
  version: versions["pg-boss"],
  on: "postgres",
  doors: ["bulk", "tx", "lasting"],
  jobsToDrain: { default: 60_000 },
  atOnce: true,
  unfinished: "select from {schema}.job where name = 'noop' and state < 'completed'",
  row: {
    table: "{schema}.job",
    waiting: "select from {schema}.job where name = 'noop' and state = 'created'",
    given: {
      id: "gen_random_uuid()",
      data: "jsonb_set(s.data, '{n}', to_jsonb(g.n))",
      created_on: "s.created_on + g.n * interval '1 microsecond'",
      start_after: "s.start_after",
      keep_until: "s.keep_until",
    },
  },
};

/** @type {import("./system.js").System[]} */
export const systems = [
  {
    ...common,
    name: "pg-boss",
    takesPart: ["enqueue", "wake-up"],
    pollMs: 2_000,
    open: (place) =>
      open(place, {
        notify: false,
        working: {},
        lasting: (concurrency) => ({ localConcurrency: concurrency }),
      }),
  },
  {
    ...common,
    name: "pg-boss tuned",
    settings:
      "batchSize 1000, burstWhenBatchFull, localConcurrency 4, LISTEN/NOTIFY; perJobResults for results",
    takesPart: ["drain", "wake-up"],
    doors: ["bulk", "tx", "results", "lasting"],
    isFastest: true,
    concurrency: 4,
    open: (place) =>
      open(place, {
        notify: true,
        working: { batchSize: 1_000, burstWhenBatchFull: true, localConcurrency: 4 },
        // Each worker waits for the last of its batch: two of them halve the batches that run at once.
        lasting: (concurrency) => ({
          batchSize: concurrency / 2,
          burstWhenBatchFull: true,
          localConcurrency: 2,
        }),
      }),
  },
];

async function open({ address, schema }, { notify, working, lasting }) {
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
    work({ concurrency, onStart, results, lasting: isLasting }) {
      if (isLasting) {
        return boss.work("noop", lasting(concurrency), (jobs) =>
          Promise.all(jobs.map(({ data }) => onStart(data.n))),
        );
      }
      return boss.work("noop", results ? { ...working, perJobResults: true } : working, async (jobs) => {
        for (const { data } of jobs) onStart(data.n);
        return results ? jobs.map(({ id, data }) => ({ id, status: "completed", output: data })) : undefined;
      });
    },
    close: () => boss.stop({ graceful: false }),
  };
}
