import { describe, it } from "vitest";
import { storeConformance } from "../../src/testing/index.ts";
import { optional } from "../support/optional.ts";
import { postgresHarness } from "../support/postgres-harness.ts";
import { missingPostgres } from "../support/postgres-server.ts";

optional("PostgreSQL 18", missingPostgres(18), () => {
  storeConformance({ describe, it }, "the store on PostgreSQL 18", postgresHarness(18));
});
