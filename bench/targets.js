// What was aimed at, beside what a run has shown.

import { digits, markdown } from "./table.js";

/**
 * @param {import("./report.js").Report} report
 * @param {readonly (import("./cases.js").Target & { workload: string })[]} targets
 */
export function targetsTable(report, targets) {
  const rows = targets.map((target) => {
    const { workload, what, unit } = target;
    const measured = target.measured(report);
    const limit = target.atLeast ?? target.atMost;
    return [
      workload,
      what,
      measured === undefined ? "not measured" : withUnit(measured, unit),
      `${target.atLeast === undefined ? "≤" : "≥"} ${withUnit(limit, unit)}`,
      measured === undefined ? "" : met(target, measured) ? "ok" : "missed",
    ];
  });
  return markdown([["targets", "", "measured", "target", ""], ...rows]);
}

/** @param {import("./cases.js").Target} target @param {number} measured */
function met({ atLeast, atMost }, measured) {
  return atLeast === undefined ? measured <= atMost : measured >= atLeast;
}

/** @param {number} value @param {string} [unit] */
function withUnit(value, unit) {
  return unit === undefined ? `${digits(value)}x` : `${digits(value)} ${unit}`;
}
