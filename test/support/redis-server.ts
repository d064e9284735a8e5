/** A Redis server that one test or file owns, to be killed, started again, followed and promoted as it likes. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { missingLibraries } from "../integrations/libraries.ts";
import { nodeRedis, type RedisConnection } from "../integrations/redis-clients.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./keeping.js";
import { lastWill } from "./last-will.js";
import { missingCommand } from "./optional.ts";
import { missingProc } from "./processes-in.js";

/** Undefined when tests on Redis can run, else what is missing. */
export function missingRedis(): string | undefined {
  return missingCommand("redis-server") ?? missingLibraries() ?? missingProc;
}

/** It waits for its disk before it acknowledges, which Redis does not by itself. */
const SETTINGS = {
  appendonly: "yes",
  appendfsync: "always",
  save: "",
  "repl-diskless-sync-delay": "0", // no other replica is to come
};

export class RedisServer {
  readonly socket: string;
  readonly port: number;
  readonly #home: string;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #revoke: (() => void)[];
  #process: ChildProcess | undefined;
  #aside: RedisConnection | undefined;

  private constructor(
    home: string,
    port: number,
    settings: Readonly<Record<string, string>>,
    revoke: (() => void)[],
  ) {
    this.#home = home;
    this.socket = join(home, "socket");
    this.port = port;
    this.#settings = { ...SETTINGS, ...settings };
    this.#revoke = revoke;
  }

  /** Running, until `close`. @param settings as in redis.conf */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<RedisServer> {
    const home = mkdtempSync(join(tmpdir(), "leasehold-redis-"));
    const revoke = [await lastWill({ remove: home }), await lastWill({ endProcessesIn: home })];
    const port = await freePort();
    if (port === undefined) throw new Error("There is no free port");
    const server = new RedisServer(home, port, settings, revoke);
    await server.start();
    return server;
  }

  /** Resolves when it answers, with what its append-only file has. */
  async start(): Promise<void> {
    const settings: Readonly<Record<string, string>> = {
      unixsocket: this.socket,
      bind: "127.0.0.1",
      port: String(this.port),
      dir: this.#home,
      logfile: join(this.#home, "log"),
      ...this.#settings,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
    const server = spawn("redis-server", args, { cwd: this.#home, stdio: "ignore" });
    this.#process = server;
    await eventually("Redis answers", async () => {
      if (server.exitCode !== null)
        throw new Error(`Redis ended:\n${readFileSync(join(this.#home, "log"), "utf8").slice(-2_000)}`);
      const connection = await nodeRedis("redis", this.socket, {
        socket: { path: this.socket, reconnectStrategy: false },
      }).catch(() => undefined);
      if (connection === undefined) return undefined;
      const isReady = await connection.command("PING").catch(() => undefined);
      if (isReady === "PONG") this.#aside = connection;
      else await connection.close();
      return isReady === "PONG";
    });
  }

  /** One command, beside any guard. */
  async command(...words: string[]): Promise<unknown> {
    if (this.#aside === undefined) throw new Error("Redis does not run");
    return this.#aside.command(...words);
  }

  /** It stands still: connections stay open, and get no answer. Until it is killed. */
  freeze(): void {
    this.#process?.kill("SIGSTOP");
  }

  /** kill -9. */
  async kill(): Promise<void> {
    const server = this.#process;
    await this.#aside?.close();
    this.#aside = undefined;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, "exit");
    server.kill("SIGKILL");
    await exited;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#home, { recursive: true, force: true });
    for (const each of this.#revoke) each();
  }
}
