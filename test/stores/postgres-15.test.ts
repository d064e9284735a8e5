import { describe, it } from "vitest";
import { storeConformance } from "../../src/testing/index.ts";
import { optional } from "../support/optional.ts";
import { postgresHarness } from "../support/postgres-harness.ts";
import { missingPostgres } from "../support/postgres-server.ts";

optional("PostgreSQL 15", missingPostgres(15), () => {
  storeConformance({ describe, it }, "the store on PostgreSQL 15", postgresHarness(15));
});
