/** Which store a command works on: `--store`, then `LEASEHOLD_STORE`, then `./leasehold.db`. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Store } from "../stores/store.ts";
import { CliError, EXIT, usageError } from "./exit.ts";

export const DEFAULT_STORE = "./leasehold.db";

export type StoreLocation = SqliteLocation | PostgresLocation;

interface Named {
  /** Who named it, for messages. */
  readonly namedBy: "--store" | "LEASEHOLD_STORE" | "the default";
}

interface SqliteLocation extends Named {
  /** Absolute, so that a process started in another folder finds the same file. */
  readonly path: string;
  readonly synchronous: "full" | "normal";
}

interface PostgresLocation extends Named {
  readonly connectionString: string;
  readonly schema: string | undefined;
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
  if (scheme === "postgres" || scheme === "postgresql") return postgres(text, namedBy);
  if (scheme !== undefined && scheme !== "sqlite") {
    throw usageError(
      `${namedBy}: unknown kind of store ${JSON.stringify(`${scheme}:`)}. Give the path of a file, sqlite:PATH or postgres://….`,
    );
  }
  return scheme === undefined
    ? { path: filePath(text, namedBy), synchronous: "full", namedBy }
    : sqlite(text.slice("sqlite:".length).replace(/^\/\//, ""), namedBy);
}

/** `schema` is ours; everything else in the query is the driver's (`sslmode`, `host`, …). */
function postgres(text: string, namedBy: StoreLocation["namedBy"]): StoreLocation {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // Not repeated here: it may hold a password.
    throw usageError(`${namedBy} is no connection string. Give postgres://USER:PASSWORD@HOST:PORT/DATABASE.`);
  }
  const schema = url.searchParams.get("schema") ?? undefined;
  url.searchParams.delete("schema");
  return { connectionString: schema === undefined ? text : url.href, schema, namedBy };
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

export interface OpeningOptions {
  /** False for commands that only look at or change what is there: a mistyped path is then an error, not a new store. */
  readonly create: boolean;
  /** False: an older schema is an error when the store is opened. Default true. */
  readonly migrate?: boolean;
}

/** Makes the store of a location; nothing is opened yet. */
export async function storeAt(location: StoreLocation, options: OpeningOptions): Promise<Store> {
  if ("connectionString" in location) return postgresAt(location, options);
  if (!options.create && !existsSync(location.path)) throw missing(location.path, location);
  const { sqlite } = await import("../stores/sqlite/index.ts");
  const { path, synchronous } = location;
  return sqlite({ path, synchronous, migrate: options.migrate ?? true });
}

async function postgresAt(location: PostgresLocation, options: OpeningOptions): Promise<Store> {
  const { connectionString, schema } = location;
  const { postgres } = await import("../stores/postgres/index.ts");
  const migrate = options.migrate ?? true;
  const store = postgres({ connectionString, migrate, ...(schema === undefined ? {} : { schema }) });
  if (options.create) return store;
  try {
    const [first] = await store.pendingMigrations();
    if (first?.version === 1) throw missing(store.description, location);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

function missing(where: string, { namedBy }: Named): CliError {
  return new CliError(
    EXIT.unreachable,
    `There is no store at ${where} (named by ${namedBy}). ` +
      "Give the right one with --store or LEASEHOLD_STORE; `leasehold migrate` makes a new one.",
  );
}
