import { describe, it } from "vitest";
import { storeConformance } from "../../src/testing/index.ts";
import { optional } from "../support/optional.ts";
import { postgresHarness } from "../support/postgres-harness.ts";
import { missingPostgres, POSTGRES_VERSIONS } from "../support/postgres-server.ts";

for (const version of POSTGRES_VERSIONS) {
  optional(`PostgreSQL ${version}`, missingPostgres(version), () => {
    storeConformance({ describe, it }, `the store on PostgreSQL ${version}`, postgresHarness(version));
  });
}
