import type { Plan } from "../plan.ts";
import { asyncPlan, syncPlan } from "./failover.ts";
import { partitionPlan } from "./partition.ts";
import { poolerPlan, postgresPlan } from "./postgres.ts";
import { sqlitePlan } from "./sqlite.ts";

export const PLANS: readonly Plan[] = [
  sqlitePlan,
  postgresPlan(15),
  postgresPlan(18),
  poolerPlan,
  asyncPlan,
  syncPlan,
  partitionPlan,
];
