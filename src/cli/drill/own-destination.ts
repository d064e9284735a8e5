/**
 * The `drill` that a module of the caller's exports: a destination of his own, and how it is seen what has landed there.
 * The export is the consent too: what `write` does is real, and is done late and twice on purpose.
 */

import type { DestinationLevel, ProbeResult } from "../../destinations/destination.ts";
import type { RunContext } from "../../index.ts";
import { usageError } from "../exit.ts";
import { loadModule } from "../jobs-module.ts";
import type { DrilledJob } from "./target.ts";

export interface OwnDestination {
  /** What it promises (D8). */
  readonly level: DestinationLevel;
  /** Called as a handler is; it may call one, with an input of its own. */
  write(context: RunContext): unknown;
  /** What is there of the job, as JSON: the drill compares it before and after a write. */
  read(job: DrilledJob): unknown;
  /** Whether an error of `write` is a refusal; those of Leasehold's kits are known. */
  isRefusal?(error: unknown): boolean;
  probe?(): Promise<ProbeResult> | ProbeResult;
  /** Takes away what `write` has left for these jobs. */
  remove?(jobs: readonly DrilledJob[]): unknown;
  close?(): unknown;
}

export const LEVELS: readonly DestinationLevel[] = [
  "fenced + deduplicated",
  "fenced",
  "deduplicated",
  "at least once",
];

const FUNCTIONS = ["write", "read", "isRefusal", "probe", "remove", "close"] as const;
const NEEDED = new Set<string>(["write", "read"]);

/** @throws {CliError} wrong usage, saying what the module lacks; nothing of it was called */
export async function drillOf(module: string): Promise<OwnDestination> {
  const { drill } = await loadModule(module, "--jobs");
  if (typeof drill !== "object" || drill === null) {
    throw usageError(
      `--jobs: ${module} exports no \`drill\`, so none of its code was run. ` +
        "Export drill = { level, write(context), read(job) }: its effects are real, and are made late and twice on purpose.",
    );
  }
  const own = drill as Record<string, unknown>;
  if (!LEVELS.includes(own["level"] as DestinationLevel)) {
    throw usageError(
      `--jobs: drill.level of ${module} is ${JSON.stringify(own["level"])}. Give one of ${LEVELS.map((level) => JSON.stringify(level)).join(", ")}.`,
    );
  }
  for (const name of FUNCTIONS) {
    if (typeof own[name] === "function" || (own[name] === undefined && !NEEDED.has(name))) continue;
    throw usageError(`--jobs: drill.${name} of ${module} is no function.`);
  }
  return own as unknown as OwnDestination;
}
