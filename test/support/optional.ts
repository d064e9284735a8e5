import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, it } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** The optional part that this skipped test stands for, and why it was not run. `npm test` lists them at its end. */
    notRun?: string;
  }
}

/** What the machine does not allow, whatever is installed. */
export class Forbidden {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/**
 * Declares tests that need something which not every machine has. `lack` says what is missing, in words that tell how
 * to get it, or is undefined when it is there.
 *
 * Without it the part counts as one skipped test with that reason, and the summary names it. With
 * `LEASEHOLD_REQUIRE_ALL=1` it fails instead: where everything was installed on purpose, nothing may slip away. What the
 * machine forbids is skipped and named there too: no installation would help.
 */
export function optional(part: string, lack: string | Forbidden | undefined, tests: () => void): void {
  const missing = lack instanceof Forbidden ? lack.why : lack;
  if (missing === undefined) {
    describe(part, tests);
  } else if (process.env["LEASEHOLD_REQUIRE_ALL"] === "1" && !(lack instanceof Forbidden)) {
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
