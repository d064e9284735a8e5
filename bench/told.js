// A report as it is read: a table for each database, and what was aimed at.

import { cases, targets } from "./cases.js";
import { tableOf } from "./table.js";
import { targetsTable } from "./targets.js";

/** @param {import("./report.js").Report} report */
export function toldOf(report) {
  const ids = new Set(report.cases.map(({ workload }) => workload));
  const databases = new Set(cases.map(({ database }) => database));
  const asked = targets.filter(({ workload }) => ids.has(workload));
  return [
    ...[...databases].map((database) => tableOf(report, database)),
    asked.length === 0 ? "" : targetsTable(report, asked),
    report.notRun.map((line) => `not run: ${line}`).join("\n"),
  ]
    .filter((text) => text !== "")
    .join("\n\n");
}
