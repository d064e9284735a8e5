import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { JobDefinition } from "../../client/define-job.ts";
import type { Log } from "../../client/log.ts";
import type { World } from "../../clock/world.ts";
import { IsolationUnavailableError } from "./errors.ts";
import { PROCESS_FILE } from "./isolated-process.ts";
import { checkModule } from "./job-module.ts";
import { type PoolOptions, ProcessPool } from "./process-pool.ts";

/**
 * The pool for these jobs; undefined when none of them names its module.
 *
 * @throws {JobModuleError} a module is not there
 * @throws {IsolationUnavailableError} a job is to be isolated, and this program was bundled without what that takes
 */
export function openPool(
  jobs: Iterable<JobDefinition>,
  world: World,
  log: Log,
  options: PoolOptions,
): ProcessPool | undefined {
  const withModule = [...jobs].filter(({ module }) => module !== undefined);
  for (const { module } of withModule) checkModule(module as string);
  if (withModule.length === 0) return undefined;
  if (existsSync(PROCESS_FILE)) return new ProcessPool(world, options);
  const isolated = withModule.find(({ isolation }) => isolation === "process");
  if (isolated !== undefined) throw new IsolationUnavailableError(isolated.name, fileURLToPath(PROCESS_FILE));
  const message =
    "this program was bundled without what isolated processes start from; suspects run alone in the worker";
  log({ level: "warning", kind: "isolation_unavailable", message });
  return undefined;
}
