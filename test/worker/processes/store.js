// The store that a test has given to its processes: the first argument is a file, or the URL of a PostgreSQL server.

import { Leasehold } from "leasehold";
import { postgres } from "leasehold/postgres";
import { sqlite } from "leasehold/sqlite";

export const [address = "", ...args] = process.argv.slice(2);

export const leasehold = new Leasehold({
  store: address.startsWith("postgres") ? postgres(address) : sqlite(address),
  log: () => {},
});

/**
 * Tells the test.
 *
 * @param {string} what
 * @param {unknown} [detail]
 */
export function tell(what, detail) {
  process.send?.({ what, detail });
}
