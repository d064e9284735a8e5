import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import { postgres } from "../../src/stores/postgres/index.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import type { Store } from "../../src/stores/store.ts";
import { optional } from "../support/optional.ts";
import { emptyDatabase } from "../support/postgres-database.ts";
import { missingPostgres } from "../support/postgres-server.ts";

/** The length of the rate; `LEASEHOLD_RATE_MS=10000` and `LEASEHOLD_RATE_TIMES=6` hold one for a minute. */
const PER_MS = Number(process.env["LEASEHOLD_RATE_MS"] ?? 400);
const TIMES = Number(process.env["LEASEHOLD_RATE_TIMES"] ?? 5);
const COUNT = 20;

/** Works so many jobs with three workers, and returns when each began by the store's clock. */
async function began(open: () => Store): Promise<number[]> {
  const clients = [1, 2, 3].map(() => new Leasehold({ store: open(), log: () => {} }));
  const [first] = clients as [Leasehold];
  try {
    const job = defineJob({ name: "call", run() {} });
    await first.limitQueue("call", { rate: { count: COUNT, perMs: PER_MS } });
    const jobs = await first.enqueueMany(Array.from({ length: COUNT * TIMES }, () => ({ job })));
    for (const client of clients) client.work([job], { renewer: "inline" });
    const ids = jobs.map(({ jobId }) => jobId);
    await Promise.all(ids.map((id) => first.result(id, { timeoutMs: 120_000 })));
    const ended = await first.getMany(ids);
    expect(ended.map((job) => job?.attempt)).toEqual(ids.map(() => 1));
    return ended.map((job) => Number(job?.claimedAtMs)).sort((one, other) => one - other);
  } finally {
    for (const client of clients) await client.close();
  }
}

function expectRate(moments: readonly number[]): void {
  const most = Math.max(
    ...moments.map((fromMs, n) => moments.slice(n).filter((ms) => ms - fromMs < PER_MS).length),
  );
  const tookMs = (moments.at(-1) as number) - (moments[0] as number);
  if (process.env["LEASEHOLD_SHOW"] === "1") {
    process.stdout.write(
      `${moments.length} jobs began within ${tookMs} ms of the store's clock, at most ${most} within any ${PER_MS}\n`,
    );
  }
  expect(most).toBeLessThanOrEqual(COUNT);
  expect(tookMs).toBeGreaterThanOrEqual((TIMES - 1) * PER_MS);
}

it("a rate holds by the clock of a SQLite file that three workers share", { timeout: 150_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-"));
  try {
    expectRate(await began(() => sqlite(join(folder, "jobs.db"))));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

optional("a rate on PostgreSQL", missingPostgres(18), () => {
  it("holds by the server's clock over three workers", { timeout: 150_000 }, async () => {
    const url = await emptyDatabase(18);
    expectRate(await began(() => postgres(url)));
  });
});
