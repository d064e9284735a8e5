/** What a renewer thread imports: a connection of its own that does nothing but renew (W2). */

import type { RenewalStore } from "../store.ts";
import { noWarnings } from "../warnings.ts";
import { SqliteStore } from "./store.ts";

/** @param options those of `RenewalThreadSpec`, as they came through to the thread */
export async function openRenewal(options: {
  readonly path: string;
  readonly synchronous: "full" | "normal";
}): Promise<RenewalStore> {
  // The process has migrated the file before it starts the thread.
  const store = new SqliteStore({ ...options, migrate: false }, options.path, undefined, noWarnings);
  await store.open();
  return store;
}
