import { expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { loadDriver } from "../../src/stores/sqlite/driver.ts";
import { inEachPlace, type Place } from "../support/places.ts";
import { rowsOf } from "../support/postgres-database.ts";

const LEASE_MS = 1_000;
const job = defineJob({ name: "job", leaseMs: LEASE_MS, backoff: { baseMs: 0 }, run: () => {} });

/** One statement beside the store; the rows of a query. */
async function aside(place: Place, text: string): Promise<unknown[]> {
  if (place.kind === "postgres") return rowsOf(place.address, text);
  const { Database } = await loadDriver();
  const database = new Database(place.address, { timeout: 10_000 });
  try {
    return database.prepare(text).all();
  } finally {
    database.close();
  }
}

/** A worker whose handler's transaction, on the store's own pool or handle, ends so. */
async function started(place: Place, how: string) {
  await place.leasehold.open();
  await aside(place, "create table note (text text)");
  const { jobId } = await place.leasehold.enqueue(job);
  const child = place.start("transactor", [JSON.stringify({ how })]);
  await child.tells("written");
  return { jobId, child };
}

inEachPlace("a handler with a transaction of its own where the jobs are", (open) => {
  it.each(["commit", "rollback"])("keeps its job through its %s: ownership is in the row", async (how) => {
    const place = await open();
    const { jobId, child } = await started(place, how);
    await child.tells("over");
    const { leaseUntilMs } = (await place.leasehold.get(jobId)) ?? {};
    await place.until(
      "two renewals",
      jobId,
      (view) => Number(view.leaseUntilMs) > Number(leaseUntilMs) + LEASE_MS / 2,
    );
    for (let looks = 0; looks < 30; looks++) expect((await place.claimAll("job")).jobs).toEqual([]);
    child.process.send("finish");
    expect(await place.leasehold.result(jobId)).toBe("the first run's");
    expect(await place.leasehold.get(jobId)).toMatchObject({ generation: 1, attempt: 1 });
    expect(await aside(place, "select text from note")).toHaveLength(how === "commit" ? 1 : 0);
  });

  it("that throws within it fails an attempt, and the next one runs", async () => {
    const place = await open();
    const { jobId } = await started(place, "throw");
    expect(await place.leasehold.result(jobId)).toBe("run again");
    expect(await place.leasehold.get(jobId)).toMatchObject({ attempt: 2, expiredCount: 0 });
    expect(await aside(place, "select text from note")).toEqual([]);
  });

  it("that dies within it leaves the lease to lapse, not before, and nothing of what it wrote", async () => {
    const place = await open();
    const { jobId, child } = await started(place, "die");
    await child.exited;
    const { leaseUntilMs } = (await place.leasehold.get(jobId)) ?? {};
    const again = defineJob({ name: "job", run: () => "run again" });
    place.leasehold.work([again], { renewer: "inline" });
    expect(await place.leasehold.result(jobId)).toBe("run again");
    const view = await place.leasehold.get(jobId);
    expect(view).toMatchObject({ generation: 2, attempt: 2 });
    expect(Number(view?.claimedAtMs)).toBeGreaterThanOrEqual(Number(leaseUntilMs));
    expect(await aside(place, "select text from note")).toEqual([]);
  });
});
