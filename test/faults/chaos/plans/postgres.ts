import { missingOwnServer } from "../../../support/own-server.ts";
import { missingPooler } from "../../../support/pgbouncer.ts";
import type { PostgresVersion } from "../../../support/postgres-server.ts";
import { pooledGround, postgresGround } from "../grounds/postgres-server.ts";
import type { Plan } from "../plan.ts";
import { workerFaults } from "./faults.ts";

export const postgresPlan = (version: PostgresVersion): Plan => ({
  name: `pg${version}`,
  ground: postgresGround(version),
  nemeses: workerFaults,
  missing: () => missingOwnServer(version),
});

/** The same, with all that workers say to the server going through a pooler that has no prepared statements. */
export const poolerPlan: Plan = {
  name: "pg-pooler",
  ground: pooledGround(18),
  nemeses: workerFaults,
  missing: () => missingOwnServer(18) ?? missingPooler(18),
};
