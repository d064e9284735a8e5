import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { systemWorld } from "../../src/clock/system.ts";
import { openDatabase } from "../../src/stores/sqlite/index.ts";
import { temporaryFolder } from "../stores/sqlite/world.ts";
import type { Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { inEachPlace, type Place } from "../support/places.ts";

const JOBS = 20;
/** Two writes in a row wait for about as long. */
const LEASE_MS = 500;
/** Some leases: each run must be renewed through the load, or it is taken over. */
const RUN_MS = 1_500;
const HELD_MS = 200;
const FREE_MS = 50;
/** So many runs begin under the load; then it ends. `LEASEHOLD_SATURATED_RUNS=100` for more. */
const RUNS = Number(process.env["LEASEHOLD_SATURATED_RUNS"] ?? 40);
const { timers } = systemWorld();
const job = defineJob({ name: "credit", run: () => {} });

/** Holds the store's writes for most of the time, again and again. */
function saturate(place: Place): () => Promise<void> {
  let isOver = false;
  const load = (async () => {
    while (!isOver) {
      const release = await place.holdWrites();
      await timers.sleep(HELD_MS);
      await release();
      await timers.sleep(FREE_MS);
    }
  })();
  return () => {
    isOver = true;
    return load;
  };
}

inEachPlace("a store whose writes wait for longer than a renewal may", (open) => {
  it("causes no storm of takeovers: what overlaps is refused, each job takes effect once", {
    timeout: 180_000,
  }, async () => {
    const place = await open();
    const data = join(temporaryFolder(), "data.db");
    const database = await openDatabase(data);
    onTestFinished(() => database.close());
    database.exec("pragma journal_mode = wal; create table credit (job text)");
    await place.leasehold.open();
    const workers = Array.from({ length: 3 }, () =>
      place.start("credit", [JSON.stringify({ data, runMs: RUN_MS, concurrency: 7 })]),
    );
    await Promise.all(workers.map((worker: Child) => worker.tells("working")));
    const jobs = await place.leasehold.enqueueMany(
      Array.from({ length: JOBS }, () => ({ job, leaseMs: LEASE_MS, maxAttempts: 1_000 })),
    );
    const calm = saturate(place);
    const all = (what: string): unknown[] => workers.flatMap((worker) => worker.all(what));
    const haveEnded = async () =>
      (await place.leasehold.getMany(jobs)).every((view) => view?.state === "completed");
    await eventually("many runs", async () => all("started").length >= RUNS || haveEnded(), 60_000);
    const underLoad = all("completed").length;
    await calm();
    await eventually("all have ended", haveEnded, 60_000);
    for (const worker of workers) worker.process.send("stop");
    await Promise.all(workers.map((worker) => worker.tells("stopped")));
    const takeovers = (all("started") as { previous?: object }[]).filter(
      ({ previous }) => previous !== undefined,
    );
    if (process.env["LEASEHOLD_SHOW"] === "1")
      process.stdout.write(
        `${place.kind}: ${JOBS} jobs, ${all("started").length} runs, ${takeovers.length} of them takeovers; ` +
          `${all("aborted").length} aborted, ${all("refused").length} refused, ${all("lost").length} lost; ${underLoad} completed under load\n`,
      );
    const credited = database.prepare("select job from credit").all();
    expect(credited.map((row) => row["job"]).sort()).toEqual(jobs.map(({ jobId }) => jobId as string).sort());
    expect(all("completed")).toHaveLength(JOBS);
    expect(takeovers.length).toBeLessThan(2 * JOBS);
  });
});
