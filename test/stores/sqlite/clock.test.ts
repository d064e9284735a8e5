import { join } from "node:path";
import { expect, it } from "vitest";
import { loadDriver } from "../../../src/stores/sqlite/driver.ts";
import { CALL, claimAll, newJob, storeOn, temporaryFolder, world } from "./world.ts";

it("T5 a lapsed lease that was laid open, and then starts in the future, is leased once more for one lease", async () => {
  const path = join(temporaryFolder(), "jobs.db");
  const store = storeOn(path, { sweepMs: 0 });
  await store.enqueue([newJob()], CALL);
  const [mine] = await claimAll(store, world.ids.owner());
  const { Database } = await loadDriver();
  const database = new Database(path);
  const shift = (byMs: number): void => {
    database.exec(`update leasehold_job set lease_until = lease_until + (${byMs})`);
  };
  shift(-31_000);
  // A claim from another queue sweeps, and takes nothing.
  await store.claim({ owner: world.ids.owner(), queues: ["other"], limit: 1, takeover: true }, CALL);
  expect(database.prepare("select phase from leasehold_job").get()).toMatchObject({ phase: 1 });

  shift(3_600_000); // as a clock does that is set back by an hour
  expect(await claimAll(store, world.ids.owner())).toEqual([]);
  const now = await store.nowMs(CALL);
  const [job] = await store.get([mine?.job.jobId ?? world.ids.jobId()], CALL);
  expect(job?.state).toBe("leased");
  expect((job?.leaseUntilMs ?? 0) - now).toBeLessThanOrEqual(30_000);

  shift(-31_000);
  expect(await claimAll(store, world.ids.owner())).toMatchObject([{ job: { generation: 2 } }]);
  database.close();
});
