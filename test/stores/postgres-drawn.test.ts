import { describe, it } from "vitest";
import { storeConformance } from "../../src/testing/index.ts";
import { drawn } from "../support/drawn-stores.ts";
import { optional } from "../support/optional.ts";
import { missingPooler } from "../support/pgbouncer.ts";
import { postgresHarness } from "../support/postgres-harness.ts";
import { missingPostgres } from "../support/postgres-server.ts";

const OTHERS = [
  {
    part: "PostgreSQL 15",
    missing: missingPostgres(15),
    store: "the store on PostgreSQL 15",
    harness: postgresHarness(15),
  },
  {
    part: "PostgreSQL 18 behind PgBouncer in transaction mode",
    missing: missingPooler(18),
    store: "the store on PostgreSQL 18 through PgBouncer",
    harness: postgresHarness(18, { pooler: 20 }),
  },
];

for (const { part, missing, store, harness } of drawn("another PostgreSQL", OTHERS)) {
  optional(part, missing, () => {
    storeConformance({ describe, it }, store, harness);
  });
}
