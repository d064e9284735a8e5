import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import { systemWorld } from "../../src/clock/system.ts";
import { i14NobodyStranded } from "../../src/protocol/invariants.ts";
import { postgres } from "../../src/stores/postgres/index.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import type { Store } from "../../src/stores/store.ts";
import { Child } from "../support/child.ts";
import { drawnStores } from "../support/drawn-stores.ts";
import { optional } from "../support/optional.ts";
import { emptyDatabase } from "../support/postgres-database.ts";
import { missingPostgres } from "../support/postgres-server.ts";

const { ids } = systemWorld();
const step = defineJob({ name: "step", leaseMs: 10_000, maxAttempts: 1_000, run: () => {} });
const report = defineJob({ name: "report", run: () => "all have ended" });
/** On PostgreSQL, where each completion waits for a disk, so many only when `LEASEHOLD_DIAMOND` asks for it. */
const JOBS = 10_000;
const JOBS_ON_POSTGRES = Number(process.env["LEASEHOLD_DIAMOND"] ?? 3_000);
/** So many workers are killed, each after this share of the jobs: fewer than the one beside it leaves to it. */
const KILLED = 1;
const SHARE_BEFORE = 0.08;

function worker(address: string): Child {
  const file = fileURLToPath(new URL("processes/orderly.js", import.meta.url));
  const child = new Child(file, [address, "leasehold", 20]);
  onTestFinished(() => child.kill());
  return child;
}

async function killAfter(child: Child, jobs: number): Promise<void> {
  while (child.all("completed").length < jobs) {
    await new Promise((resolve) => child.process.once("message", resolve));
  }
  await child.kill();
}

/** One job, all but two behind it, and one behind all of those; in a batch with a job for its end. */
async function diamondEnds(store: Store, address: string, size = JOBS): Promise<void> {
  const leasehold = new Leasehold({ store, log: () => {}, callTimeoutMs: 60_000 });
  onTestFinished(() => leasehold.close());
  const top = ids.jobId();
  const bottom = ids.jobId();
  const middle = Array.from({ length: size - 2 }, () => ids.jobId());
  await leasehold.enqueueMany(
    [
      { job: step, jobId: top },
      ...middle.map((jobId) => ({ job: step, jobId, after: top, onFailure: "fail" as const })),
      { job: step, jobId: bottom, after: middle, onFailure: "fail" as const },
    ],
    // biome-ignore lint/suspicious/noThenProperty: the option's name, and nothing that can be called
    { batch: { name: "diamond", then: { job: report } } },
  );
  expect((await leasehold.get(bottom))?.blockedBy).toBe(size - 2);
  expect(await leasehold.batch("diamond")).toMatchObject({ total: size, completed: 0 });

  const before = Math.floor(size * SHARE_BEFORE);
  for (let n = 0; n < KILLED; n += 1) await killAfter(worker(address), before);
  const doomed = killAfter(worker(address), before);
  worker(address);
  await doomed;
  await leasehold.result(bottom);

  const jobs = await leasehold.getMany([top, ...middle, bottom]);
  expect(jobs.filter((job) => job?.state === "completed" && job.blockedBy === 0)).toHaveLength(size);
  const lastOfMiddle = Math.max(...jobs.slice(1, -1).map((job) => job?.finishedAtMs ?? Number.NaN));
  expect(jobs.at(-1)?.claimedAtMs).toBeGreaterThanOrEqual(lastOfMiddle);
  leasehold.work([report]);
  const last = (await leasehold.batch("diamond"))?.thenId ?? "";
  expect(await leasehold.result(last)).toBe("all have ended");
  expect(await leasehold.batch("diamond")).toMatchObject({
    total: size,
    completed: size,
    failed: 0,
    cancelled: 0,
  });
  const live = await store.list({ states: ["ready", "leased"] }, { limit: 10 }, { timeoutMs: 5_000 });
  expect(i14NobodyStranded(live.jobs, () => [])).toBeUndefined();
}

const ON = {
  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), "leasehold-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, "test.db");
    await diamondEnds(sqlite(path), path);
  },
  async postgres() {
    const url = await emptyDatabase(18);
    await diamondEnds(postgres(url), url, JOBS_ON_POSTGRES);
  },
};

for (const kind of drawnStores("a diamond")) {
  optional(`a diamond on ${kind}`, kind === "sqlite" ? undefined : missingPostgres(18), () => {
    it(
      "of thousands of jobs ends, each job after those that it waits for, whose workers are killed again and again",
      {
        timeout: 180_000,
      },
      ON[kind],
    );
  });
}
