/**
 * A JOBS_MODULE: a module of the caller's whose exports made by `defineJob` are the jobs, whatever the exports are
 * called. TypeScript is loaded by Node where it can, else by jiti; in both cases `leasehold` inside the module is this
 * very copy, so that definitions are recognised and errors keep their classes.
 */

import { existsSync, statSync } from "node:fs";
import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isJobDefinition, type JobDefinition } from "../index.ts";
import { usageError } from "./exit.ts";

export type Jobs = ReadonlyMap<string, JobDefinition>;

const TYPESCRIPT = new Set([".ts", ".mts", ".cts", ".tsx"]);

/** What Node says of TypeScript that it cannot run by stripping types alone: an enum, an import of `./x.js` for `x.ts`. */
const BEYOND_STRIPPING = new Set([
  "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX",
  "ERR_INVALID_TYPESCRIPT_SYNTAX",
  "ERR_UNKNOWN_FILE_EXTENSION",
  "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING",
  "ERR_UNSUPPORTED_DIR_IMPORT",
  "ERR_MODULE_NOT_FOUND",
]);

export async function loadJobs(module: string): Promise<Jobs> {
  return jobsIn(await loadModule(module), resolve(module));
}

/** @param namedBy how the command line calls it, for messages */
export async function loadModule(module: string, namedBy = "JOBS_MODULE"): Promise<Record<string, unknown>> {
  const path = resolve(module);
  if (!existsSync(path)) throw usageError(`${namedBy}: there is no file ${path}.`);
  if (statSync(path).isDirectory()) throw usageError(`${namedBy}: ${path} is a folder. Give a file in it.`);
  try {
    return TYPESCRIPT.has(extname(path))
      ? await importTypeScript(path)
      : await import(pathToFileURL(path).href);
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw usageError(`${namedBy}: ${path} could not be loaded:\n${text}`);
  }
}

async function importTypeScript(path: string): Promise<Record<string, unknown>> {
  if ((process.features as { readonly typescript?: unknown }).typescript) {
    try {
      return await import(pathToFileURL(path).href);
    } catch (error) {
      // These are found before any of the module's code has run, so loading it in another way runs nothing twice.
      if (!BEYOND_STRIPPING.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
  const [{ createJiti }, leasehold, leaseholdSqlite] = await Promise.all([
    import("jiti"),
    import("../index.ts"),
    import("../stores/sqlite/index.ts"),
  ]);
  // jiti would load the package a second time; handed over like this there is one copy.
  const virtualModules = { leasehold, "leasehold/sqlite": leaseholdSqlite };
  return createJiti(pathToFileURL(path).href, { virtualModules, interopDefault: false }).import(path);
}

function jobsIn(exports: Record<string, unknown>, path: string): Jobs {
  const jobs = new Map<string, JobDefinition>();
  for (const value of Object.values(exports)) {
    if (!isJobDefinition(value)) continue;
    const other = jobs.get(value.name);
    if (other !== undefined && other !== value) {
      throw usageError(
        `JOBS_MODULE: ${path} exports two different jobs named ${JSON.stringify(value.name)}.`,
      );
    }
    jobs.set(value.name, value);
  }
  if (jobs.size === 0) {
    const names = Object.keys(exports);
    throw usageError(
      `JOBS_MODULE: ${path} exports no job ` +
        `(${names.length === 0 ? "it exports nothing" : `its exports: ${names.join(", ")}`}). ` +
        `Export what defineJob of "leasehold" returns.`,
    );
  }
  return jobs;
}

/** The names of the jobs, for a message. */
export function jobNames(jobs: Jobs): string {
  return [...jobs.keys()].sort().join(", ");
}
