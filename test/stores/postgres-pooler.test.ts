import { describe, it } from "vitest";
import { storeConformance } from "../../src/testing/index.ts";
import { optional } from "../support/optional.ts";
import { missingPooler } from "../support/pgbouncer.ts";
import { postgresHarness } from "../support/postgres-harness.ts";

optional("PostgreSQL 18 behind PgBouncer in transaction mode", missingPooler(18), () => {
  storeConformance({ describe, it }, "the store on PostgreSQL 18 through PgBouncer", postgresHarness(18, 20));
});
