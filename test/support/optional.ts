import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, it } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** The optional part that this skipped test stands for, and why it was not run. `npm test` lists them at its end. */
    notRun?: string;
  }
}

/**
 * Declares tests that need something which not every machine has. `missing` says what is missing, in words that tell how
 * to get it, or is undefined when it is there.
 *
 * Without it the part counts as one skipped test with that reason, and the summary names it. With
 * `LEASEHOLD_REQUIRE_ALL=1` it fails instead: where everything was installed on purpose, nothing may slip away.
 */
export function optional(part: string, missing: string | undefined, tests: () => void): void {
  if (missing === undefined) {
    describe(part, tests);
  } else if (process.env["LEASEHOLD_REQUIRE_ALL"] === "1") {
    it(part, () => {
      throw new Error(`${part}: ${missing}. LEASEHOLD_REQUIRE_ALL=1 asks for every part.`);
    });
  } else {
    it(part, (context) => {
      context.task.meta.notRun = `${part}: ${missing}`;
      context.skip(missing);
    });
  }
}

/** Undefined when `command` can be run from the `PATH`, else what is missing. */
export function missingCommand(command: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.some((folder) => isExecutable(join(folder, command)))
    ? undefined
    : `\`${command}\` is not installed`;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
