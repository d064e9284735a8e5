import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemWorld } from "../../../src/clock/system.ts";
import type { NewJob } from "../../../src/protocol/enqueue.ts";
import type { Fence, Owner } from "../../../src/protocol/identity.ts";
import { type SqliteOptions, sqlite } from "../../../src/stores/sqlite/index.ts";
import type { ClaimedJob, Store } from "../../../src/stores/store.ts";

export const world = systemWorld();
export const CALL = { timeoutMs: 10_000 };

/** A folder that is gone when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A store on a file, closed when the test is over. */
export function storeOn(path: string, options: Omit<SqliteOptions, "path" | "database"> = {}): Store {
  const store = sqlite({ path, ...options });
  onTestFinished(() => store.close());
  return store;
}

export function newJob(settings: Partial<NewJob> = {}): NewJob {
  return {
    jobId: world.ids.jobId(),
    mayRepeat: false,
    name: "job",
    queue: "queue",
    priority: 0,
    due: { delayMs: 0 },
    leaseMs: 30_000,
    maxAttempts: 3,
    maxRunMs: null,
    backoff: null,
    resource: null,
    unique: null,
    input: "{}",
    ...settings,
  };
}

export async function claimAll(store: Store, owner: Owner, limit = 100): Promise<readonly ClaimedJob[]> {
  const { jobs } = await store.claim({ owner, queues: ["queue"], limit, takeover: true }, CALL);
  return jobs;
}

export function fenceOf({ job }: ClaimedJob): Fence {
  return { jobId: job.jobId, owner: job.owner, generation: job.generation };
}
