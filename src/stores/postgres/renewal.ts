/** What a renewer thread imports: a connection of its own that does nothing but renew (W2). */

import { systemWorld } from "../../clock/system.ts";
import { StoreBusyError } from "../../errors.ts";
import type { RenewalStore } from "../store.ts";
import { noWarnings } from "../warnings.ts";
import { PostgresStore } from "./store.ts";

/**
 * A connection that is ended in this very moment must not cost the process its renewal thread. A server that has no place
 * for one more must, since renewal then goes on inline, over the pool.
 */
const OPEN_TRIES = 5;
const OPEN_AGAIN_MS = 200;
/**
 * One is what is used. On a network that loses packets, or of a server that is slow, a call that was given up may hold on
 * to its connection, and an attempt to connect may hang: leases wait for neither.
 */
const MOST_CONNECTIONS = 3;

/** @param options those of `RenewalThreadSpec`, as they came through to the thread */
export async function openRenewal(options: {
  readonly connectionString: string;
  readonly schema: string;
}): Promise<RenewalStore> {
  // The process has migrated the store before it starts the thread.
  const store = new PostgresStore(
    { ...options, migrate: false, listen: false, maxConnections: MOST_CONNECTIONS },
    options.schema,
    undefined,
    { name: "leasehold renew", warn: noWarnings },
  );
  const { timers } = systemWorld();
  for (let tries = 1; ; tries += 1) {
    try {
      await store.open();
      return store;
    } catch (error) {
      if (tries === OPEN_TRIES || !(error instanceof StoreBusyError)) throw error;
    }
    await timers.sleep(OPEN_AGAIN_MS);
  }
}
