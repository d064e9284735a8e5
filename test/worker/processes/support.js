// What the processes of these tests share. They run from dist/, as a user's would: `leasehold` is this package.

import { Leasehold } from "leasehold";
import { sqlite } from "leasehold/sqlite";

/** The database file that the test gave. */
export const path = String(process.argv[2]);

export const leasehold = new Leasehold({ store: sqlite(path) });

/**
 * Tells the test.
 *
 * @param {string} what
 * @param {unknown} [detail]
 */
export function tell(what, detail) {
  process.send?.({ what, detail });
}

/**
 * Blocks the loop.
 *
 * @param {number} ms
 */
export function block(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/**
 * Resolves when the lease has been renewed once: the renewer is at work.
 *
 * @param {import("leasehold").Lease} lease
 */
export async function renewedOnce(lease) {
  for (let leftMs = lease.remainingMs(); ; ) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (lease.remainingMs() > leftMs) return;
    leftMs = lease.remainingMs();
  }
}
