import type { Plan } from "../plan.ts";
import { partitionPlan } from "./partition.ts";
import { postgresPlan } from "./postgres.ts";
import { sqlitePlan } from "./sqlite.ts";

export const PLANS: readonly Plan[] = [sqlitePlan, postgresPlan(15), postgresPlan(18), partitionPlan];
