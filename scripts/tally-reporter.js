// Counts what vitest ran, for the closing lines of `npm test`.

import { writeFileSync } from "node:fs";
import { ConformanceCounts } from "./conformance-table.js";

/**
 * @typedef {object} Tally
 * @property {number} passed
 * @property {number} failed tests, files that could not be loaded, and errors outside any test
 * @property {number} skipped
 * @property {string[]} notRun optional parts, each with its reason (see test/support/optional.ts)
 * @property {import("./conformance-table.js").Cell[]} conformance
 */

// biome-ignore lint/style/noDefaultExport: vitest takes a reporter from a module's default export
export default class TallyReporter {
  /**
   * @param {readonly import("vitest/node").TestModule[]} modules
   * @param {readonly unknown[]} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    /** @type {Tally} */
    const tally = { passed: 0, failed: unhandledErrors.length, skipped: 0, notRun: [], conformance: [] };
    const conformance = new ConformanceCounts();
    for (const module of modules) {
      const suites = [module, ...module.children.allSuites()];
      tally.failed += suites.filter((suite) => suite.errors().length > 0).length;
      for (const test of module.children.allTests()) {
        tally[
          test.result().state === "pending" ? "skipped" : /** @type {"passed"} */ (test.result().state)
        ] += 1;
        conformance.add(test);
        const { notRun } = /** @type {{ notRun?: string }} */ (test.meta());
        if (notRun !== undefined) tally.notRun.push(notRun);
      }
    }
    tally.conformance = conformance.cells();
    const file = process.env["LEASEHOLD_TALLY"];
    if (file !== undefined) writeFileSync(file, JSON.stringify(tally));
  }
}
