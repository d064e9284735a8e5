/** Which store a command works on: `--store`, then `LEASEHOLD_STORE`, then `./leasehold.db`. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Store } from "../stores/store.ts";
import { CliError, EXIT, usageError } from "./exit.ts";

export const DEFAULT_STORE = "./leasehold.db";

export interface StoreLocation {
  /** Absolute, so that a process started in another folder finds the same file. */
  readonly path: string;
  readonly synchronous: "full" | "normal";
  /** Who named it, for messages. */
  readonly namedBy: "--store" | "LEASEHOLD_STORE" | "the default";
}

export function storeLocation(flag: string | undefined, env: NodeJS.ProcessEnv = process.env): StoreLocation {
  const fromEnv = env["LEASEHOLD_STORE"];
  if (flag !== undefined) return parse(flag, "--store");
  if (fromEnv !== undefined && fromEnv !== "") return parse(fromEnv, "LEASEHOLD_STORE");
  return parse(DEFAULT_STORE, "the default");
}

function parse(text: string, namedBy: StoreLocation["namedBy"]): StoreLocation {
  // One letter is a drive of Windows, not a scheme.
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === "postgres" || scheme === "postgresql") {
    throw usageError(
      `${namedBy} names a PostgreSQL store, and this version has none. Use a SQLite file: sqlite:./leasehold.db.`,
    );
  }
  if (scheme !== undefined && scheme !== "sqlite") {
    throw usageError(
      `${namedBy}: unknown kind of store ${JSON.stringify(`${scheme}:`)}. Give sqlite:PATH or the path of a file.`,
    );
  }
  return scheme === undefined
    ? { path: filePath(text, namedBy), synchronous: "full", namedBy }
    : sqlite(text.slice("sqlite:".length).replace(/^\/\//, ""), namedBy);
}

function sqlite(rest: string, namedBy: StoreLocation["namedBy"]): StoreLocation {
  const [path = "", query = ""] = rest.split("?", 2);
  const options = new URLSearchParams(query);
  const synchronous = options.get("synchronous") ?? "full";
  for (const name of options.keys()) {
    if (name !== "synchronous")
      throw usageError(`${namedBy}: unknown option ${JSON.stringify(name)} of the store.`);
  }
  if (synchronous !== "full" && synchronous !== "normal") {
    throw usageError(`${namedBy}: synchronous is "full" or "normal", not ${JSON.stringify(synchronous)}.`);
  }
  return { path: filePath(path, namedBy), synchronous, namedBy };
}

function filePath(path: string, namedBy: StoreLocation["namedBy"]): string {
  if (path === "") throw usageError(`${namedBy} is empty. Give sqlite:PATH or the path of a file.`);
  if (path === ":memory:") {
    throw usageError(`${namedBy}: a store in memory ends with its process. Give the path of a file.`);
  }
  return resolve(path);
}

/**
 * Makes the store of a location; nothing is opened yet. `create: false` is for commands that only look at or change
 * what is there: a mistyped path is then an error, not a new and empty store.
 */
export async function storeAt(
  location: StoreLocation,
  options: { readonly create: boolean },
): Promise<Store> {
  if (!options.create && !existsSync(location.path)) {
    throw new CliError(
      EXIT.unreachable,
      `There is no store at ${location.path} (named by ${location.namedBy}). ` +
        "Give the right one with --store or LEASEHOLD_STORE; `leasehold migrate` makes a new one.",
    );
  }
  const { sqlite } = await import("../stores/sqlite/index.ts");
  return sqlite({ path: location.path, synchronous: location.synchronous });
}
