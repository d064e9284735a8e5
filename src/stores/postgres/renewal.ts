/** What a renewer thread imports: a connection of its own that does nothing but renew (W2). */

import type { RenewalStore } from "../store.ts";
import { noWarnings } from "../warnings.ts";
import { PostgresStore } from "./store.ts";

/** @param options those of `RenewalThreadSpec`, as they came through to the thread */
export async function openRenewal(options: {
  readonly connectionString: string;
  readonly schema: string;
}): Promise<RenewalStore> {
  // The process has migrated the store before it starts the thread.
  const store = new PostgresStore(
    { ...options, migrate: false, listen: false, maxConnections: 1 },
    options.schema,
    undefined,
    noWarnings,
  );
  await store.open();
  return store;
}
