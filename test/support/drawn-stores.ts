/** On which of the two real stores, and of the servers, a long test runs. */

import { missingPostgres, POSTGRES_VERSIONS, type PostgresVersion } from "./postgres-server.ts";
import { seededRandom } from "./seed.ts";

export type StoreKind = "sqlite" | "postgres";

const BOTH: readonly StoreKind[] = ["sqlite", "postgres"];

/**
 * One of them, drawn from the run's seed for each part, so that a run has time for all parts; `LEASEHOLD_STORES=both` takes
 * both. Without a server it is the file, and the other one is told as not run.
 */
export function drawnStores(part: string): readonly StoreKind[] {
  if (process.env["LEASEHOLD_STORES"] === "both" || missingPostgres(18) !== undefined) return BOTH;
  return [seededRandom(`stores of ${part}`)() < 0.5 ? "sqlite" : "postgres"];
}

/** One of them likewise. */
export function drawnVersions(part: string): readonly PostgresVersion[] {
  if (process.env["LEASEHOLD_STORES"] === "both") return POSTGRES_VERSIONS;
  return [seededRandom(`version of ${part}`)() < 0.5 ? 15 : 18];
}
