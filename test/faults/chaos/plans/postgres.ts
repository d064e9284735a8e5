import { missingOwnServer } from "../../../support/own-server.ts";
import type { PostgresVersion } from "../../../support/postgres-server.ts";
import { postgresGround } from "../grounds/postgres-server.ts";
import type { Plan } from "../plan.ts";
import { workerFaults } from "./faults.ts";

export const postgresPlan = (version: PostgresVersion): Plan => ({
  name: `pg${version}`,
  ground: postgresGround(version),
  nemeses: workerFaults,
  missing: () => missingOwnServer(version),
});
