import { sqliteFile } from "../grounds/sqlite-file.ts";
import type { Plan } from "../plan.ts";
import { workerFaults } from "./faults.ts";

export const sqlitePlan: Plan = { name: "sqlite", ground: sqliteFile, nemeses: workerFaults };
