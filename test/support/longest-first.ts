import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The files that take more than half a minute, the longest first: begun last, one of them keeps the whole run waiting while
 * the other workers have nothing to do. A run that knows nothing of earlier ones goes by the sizes of the files.
 */
const LONG: readonly string[] = [
  "postgres-drawn.test.ts",
  "postgres-18.test.ts",
  "drill.test.ts",
  "postgres-histories.test.ts",
  "code-blocks.test.ts",
  "drill-postgres.test.ts",
  "batch.test.ts",
  "quick-start.test.ts",
  "conformance.test.ts",
  "sqlite.test.ts",
  "file-checksums.test.ts",
  "diamond.test.ts",
  "model.test.ts",
  "inspect.test.ts",
  "jobs-module.test.ts",
  "healing.test.ts",
  "crashes.test.ts",
  "demo.test.ts",
  "restart.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const order = await super.sort(files);
    const at = ({ moduleId, project }: TestSpecification): number => {
      const place = LONG.indexOf(basename(moduleId));
      return project.config.sequence.groupOrder * 1_000 + (place < 0 ? LONG.length : place);
    };
    return order.sort((one, other) => at(one) - at(other));
  }
}
