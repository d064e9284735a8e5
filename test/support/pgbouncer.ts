/**
 * A real PgBouncer in transaction mode in front of the run's PostgreSQL: one for each server and number of server
 * connections, started by the first test that asks for it and ended with the run, as the servers are.
 */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { eventually } from "./eventually.ts";
import { isAlive } from "./keeping.js";
import { missingCommand } from "./optional.ts";
import { missingPostgres, type PostgresVersion, postgresServer } from "./postgres-server.ts";

/** How long it may take to start, ms: many times what it takes. */
const START_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 10;

/** Undefined when server and pooler can be had, else what to do. */
export function missingPooler(version: PostgresVersion): string | undefined {
  return missingPostgres(version) ?? missingCommand("pgbouncer");
}

/**
 * The connection string that leads through the pooler.
 *
 * @param size how many server connections it opens at most
 */
export async function pgbouncer(
  version: PostgresVersion,
  size: number,
  servers: { readonly folder: string; readonly parent: number },
): Promise<string> {
  const server = await postgresServer(version, servers);
  const home = join(servers.folder, `pgbouncer-${version}-${size}`);
  if (isFirst(home)) start(home, server, size, servers.parent);
  return urlIn(home);
}

/** One in front of a server of the test's own, until the end of the test. */
export async function ownPooler(server: string, size: number): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), "leasehold-pooler-"));
  start(home, server, size, process.pid);
  onTestFinished(async () => {
    const keeper = Number(readFileSync(join(home, "keeper"), "utf8"));
    if (isAlive(keeper)) process.kill(keeper, "SIGTERM");
    await eventually("the pooler has ended", () => !isAlive(keeper));
    rmSync(home, { recursive: true });
  });
  return urlIn(home);
}

async function urlIn(home: string): Promise<string> {
  const deadlineMs = Date.now() + START_WITHIN_MS;
  while (!existsSync(join(home, "url"))) {
    if (existsSync(join(home, "failed")) || Date.now() > deadlineMs) {
      throw new Error(`PgBouncer did not start:\n${readFileSync(join(home, "log"), "utf8").slice(-4_000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return readFileSync(join(home, "url"), "utf8");
}

/** Test files run in several processes; the one that makes the folder starts the pooler. */
function isFirst(home: string): boolean {
  try {
    mkdirSync(home);
    return true;
  } catch {
    return false;
  }
}

function start(home: string, server: string, size: number, parent: number): void {
  const keeper = fileURLToPath(new URL("./pgbouncer-keeper.js", import.meta.url));
  const log = openSync(join(home, "log"), "a");
  spawn(process.execPath, [keeper, home, server, String(size), String(parent)], {
    detached: true,
    stdio: ["ignore", log, log],
  }).unref();
}
