import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import { postgres } from "../../src/stores/postgres/index.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import type { Store } from "../../src/stores/store.ts";
import { temporaryFolder } from "../stores/sqlite/world.ts";
import { optional } from "../support/optional.ts";
import { emptyDatabase } from "../support/postgres-database.ts";
import { missingPostgres } from "../support/postgres-server.ts";
import { gate } from "./world.ts";

const HOT_JOBS = 500;
const OTHERS = 10_000;

/** A stuck job of the hot resource, many that wait for it, and one job each of many other resources behind them. */
async function floodOf(store: Store): Promise<void> {
  const leasehold = new Leasehold({ store, log: () => {} });
  onTestFinished(() => leasehold.close());
  const [stuck, others, hot] = [gate(), gate(), gate()];
  const running = new Map<string, number>();
  const order: number[] = [];
  let most = 0;
  let left = OTHERS;
  const job = defineJob({
    name: "credit",
    resource: ({ account }: { readonly account: string; readonly n: number }) => account,
    async run({ input: { account, n } }) {
      running.set(account, (running.get(account) ?? 0) + 1);
      most = Math.max(most, running.get(account) ?? 0);
      if (account === "hot") {
        order.push(n);
        if (n === 0) await stuck.promise;
        if (order.length === HOT_JOBS) hot.open();
      } else if (--left === 0) others.open();
      running.set(account, (running.get(account) ?? 0) - 1);
    },
  });
  const inputs = [
    ...Array.from({ length: HOT_JOBS }, (_, n) => ({ account: "hot", n })),
    ...Array.from({ length: OTHERS }, (_, n) => ({ account: `account:${n}`, n })),
  ];
  for (let n = 0; n < inputs.length; n += 100)
    await leasehold.enqueueMany(inputs.slice(n, n + 100).map((input) => ({ job, input })));
  const worker = leasehold.work([job], { concurrency: 100 });

  await others.promise;
  expect(order).toEqual([0]);
  stuck.open();
  await hot.promise;
  expect(order).toEqual(Array.from({ length: HOT_JOBS }, (_, n) => n));
  expect(most).toBe(1);
  await worker.stop();
  expect(worker.counts).toEqual({
    completed: OTHERS + HOT_JOBS,
    failed: 0,
    cancelled: 0,
    retried: 0,
    released: 0,
    lost: 0,
  });
}

it("SQLite: a stuck job and a flood of its resource hold up none of 10,000 others, and run in their order afterwards", async () => {
  await floodOf(sqlite({ path: join(temporaryFolder(), "jobs.db") }));
}, 120_000);

optional("many resources on PostgreSQL 18", missingPostgres(18), () => {
  it("PostgreSQL: a stuck job and a flood of its resource hold up none of 10,000 others, and run in their order afterwards", async () => {
    await floodOf(postgres({ connectionString: await emptyDatabase(18) }));
  }, 120_000);
});
