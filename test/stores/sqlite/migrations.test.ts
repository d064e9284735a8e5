import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemWorld } from "../../../src/clock/system.ts";
import { SchemaVersionError } from "../../../src/errors.ts";
import { openDatabase } from "../../../src/stores/sqlite/index.ts";
import { NEWEST } from "../../../src/stores/sqlite/migrate.ts";
import { CALL, newJob, storeOn, temporaryFolder } from "./world.ts";

const { ids, timers } = systemWorld();

/** What a later version leaves in the file. */
async function migrated(path: string, version: number, worksWith: number): Promise<void> {
  const database = await openDatabase(path);
  database.exec(`update leasehold_store set schema_version = ${version}, works_with = ${worksWith}`);
  database.close();
}

describe("code of an earlier schema", () => {
  it("opens a later one that works with it, and warns once", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    await storeOn(path).open();
    await migrated(path, NEWEST + 1, 1);
    const heard: string[] = [];
    const hear = (warning: Error & { code?: string }): void => {
      if (warning.code === "LEASEHOLD_NEWER_SCHEMA") heard.push(warning.message);
    };
    process.on("warning", hear);
    onTestFinished(() => void process.off("warning", hear));
    const store = storeOn(path);
    await store.enqueue([newJob()], CALL);
    expect(await store.pendingMigrations()).toEqual([]);
    while (heard.length === 0) await timers.sleep(5);
    expect(heard).toEqual([
      expect.stringContaining(
        `schema to ${NEWEST + 1}; this one knows ${NEWEST}, and can still work with it`,
      ),
    ]);
  });

  it("that runs when it is shut out can write nothing any more, and says why", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const store = storeOn(path);
    await store.enqueue([newJob(), newJob()], CALL);
    const owner = ids.owner();
    const request = { owner, queues: ["queue"], limit: 1, takeover: false };
    const [claimed] = (await store.claim(request, CALL)).jobs;
    if (claimed === undefined) throw new Error("jobs were enqueued");
    const fence = { jobId: claimed.job.jobId, owner, generation: claimed.job.generation };
    await migrated(path, NEWEST + 2, NEWEST + 1);
    for (const call of [
      () => store.claim(request, CALL),
      () => store.renew([fence], CALL),
      () => store.settle([{ operation: "complete", fence, result: null }], CALL),
      () => store.completeWith(fence, async () => null, CALL),
      () => store.enqueue([newJob()], CALL),
    ]) {
      await expect(call(), String(call)).rejects.toThrow(SchemaVersionError);
    }
    expect(await store.get([fence.jobId], CALL)).toEqual([claimed.job]);
    expect(storeOn(path).open()).rejects.toThrow(
      `has schema ${NEWEST + 2}, and this version of leasehold knows schemas up to ${NEWEST}`,
    );
  });
});
