import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isJobDefinition, type JobDefinition } from "../../client/define-job.ts";
import { JobModuleError } from "./errors.ts";

/** Found in the worker already, before anything is claimed. @throws {JobModuleError} there is no such file */
export function checkModule(module: string): void {
  if (!existsSync(fileURLToPath(module)))
    throw new JobModuleError(
      module,
      "there is no such file",
      "Give module: import.meta.url in the file of the job.",
    );
}

/**
 * The job of that name among the exports, whatever the export is called.
 *
 * @throws {JobModuleError} the module cannot be loaded, or exports no such job, or two
 */
export async function jobIn(module: string, name: string): Promise<JobDefinition> {
  const exports = await imported(module);
  const jobs = [...new Set(Object.values(exports).filter(isJobDefinition))];
  const found = jobs.filter((job) => job.name === name);
  if (found.length === 1) return found[0] as JobDefinition;
  const quoted = JSON.stringify(name);
  if (found.length > 1)
    throw new JobModuleError(module, `it exports two different jobs named ${quoted}`, "Give them two names.");
  const others = jobs.map((job) => JSON.stringify(job.name)).join(", ");
  throw new JobModuleError(
    module,
    `it exports no job named ${quoted} (${others === "" ? "none at all" : `only ${others}`})`,
    "Export what defineJob returned.",
  );
}

async function imported(module: string): Promise<Record<string, unknown>> {
  try {
    return (await import(module)) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof JobModuleError) throw error;
    const beyondNode = (error as NodeJS.ErrnoException | undefined)?.code === "ERR_UNKNOWN_FILE_EXTENSION";
    throw new JobModuleError(
      module,
      beyondNode ? `Node ${process.version} cannot load this kind of file` : "it could not be loaded",
      beyondNode
        ? "Compile it first, use a Node that strips types (22.18 or newer), or give isolation.execArgv a loader."
        : "The cause says why.",
      error,
    );
  }
}
