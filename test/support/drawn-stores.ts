/** On which of the real stores a long test runs, so that a run has time for all parts; `LEASEHOLD_STORES=both` takes all. */

import { missingPostgres, POSTGRES_VERSIONS, type PostgresVersion } from "./postgres-server.ts";
import { seededRandom } from "./seed.ts";

export type StoreKind = "sqlite" | "postgres";

/** One of them, drawn from the run's seed for each part. */
export function drawn<Kind>(part: string, kinds: readonly Kind[]): readonly Kind[] {
  if (process.env["LEASEHOLD_STORES"] === "both") return kinds;
  return [kinds[Math.floor(seededRandom(part)() * kinds.length)] as Kind];
}

/** Without a server it is the file, and the other one is told as not run. */
export function drawnStores(part: string): readonly StoreKind[] {
  const both: readonly StoreKind[] = ["sqlite", "postgres"];
  return missingPostgres(18) === undefined ? drawn(`stores of ${part}`, both) : both;
}

export function drawnVersions(part: string): readonly PostgresVersion[] {
  return drawn(`version of ${part}`, POSTGRES_VERSIONS);
}
