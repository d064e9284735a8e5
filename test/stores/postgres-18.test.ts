import { describe, it } from "vitest";
import { storeConformance } from "../../src/testing/index.ts";
import { optional } from "../support/optional.ts";
import { postgresHarness } from "../support/postgres-harness.ts";
import { missingPostgres } from "../support/postgres-server.ts";

optional("PostgreSQL 18", missingPostgres(18), () => {
  // Over a pool that it was given; the ones in postgres-drawn.test.ts have their own.
  const harness = postgresHarness(18, { isGivenPool: true });
  storeConformance({ describe, it }, "the store on PostgreSQL 18", harness);
});
