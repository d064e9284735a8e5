import { onTestFinished } from "vitest";
import { systemWorld } from "../../../src/clock/system.ts";
import type { NewJob } from "../../../src/protocol/enqueue.ts";
import type { Fence, Owner } from "../../../src/protocol/identity.ts";
import { type PostgresOptions, postgres } from "../../../src/stores/postgres/index.ts";
import type { Store } from "../../../src/stores/store.ts";
import { type PostgresWorld, postgresWorld } from "../../support/postgres-harness.ts";
import type { PostgresVersion } from "../../support/postgres-server.ts";

export const CALL = { timeoutMs: 20_000 };
export const { ids, timers } = systemWorld();

export function newJob(change: Partial<NewJob> = {}): NewJob {
  return {
    jobId: ids.jobId(),
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
    ...change,
  };
}

/** A schema of its own until the end of the test. */
export async function worldOf(version: PostgresVersion): Promise<PostgresWorld> {
  const world = await postgresWorld(version);
  onTestFinished(() => world.close());
  return world;
}

/** A store as users have it, with the default sweep. */
export function storeOn({ url, schema }: PostgresWorld, options: Partial<PostgresOptions> = {}): Store {
  const address = options.pool === undefined ? { connectionString: url } : {};
  const store = postgres({ ...address, schema, ...options });
  onTestFinished(() => store.close());
  return store;
}

export async function claimAll(store: Store, owner: Owner, limit = 100): Promise<Fence[]> {
  const { jobs } = await store.claim({ owner, queues: ["queue"], limit, takeover: false }, CALL);
  return jobs.map(({ job }) => ({ jobId: job.jobId, owner, generation: job.generation }));
}

/** Until a sleeper of `store` is woken by what `ring` does, tried again and again. */
export async function wokenBy(store: Store, ring: () => Promise<unknown>): Promise<void> {
  let isWoken = false;
  const listener = store.listen(() => {
    isWoken = true;
  });
  onTestFinished(() => listener.close());
  while (!isWoken) {
    listener.arm();
    await ring();
    for (let n = 0; n < 20 && !isWoken; n += 1) await timers.sleep(10);
  }
}
