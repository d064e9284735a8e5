// One Redis for a whole run, where `redis-server` is installed: with an append-only file that is synced each second, which
// is what job queues are told to run on. It can lose the last second of what it acknowledged; PostgreSQL as it comes cannot.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { freshFolder, removed } from "./place.js";
import { freePort } from "./server.js";

const SETTINGS = { appendonly: "yes", appendfsync: "everysec", save: "" };

/** @typedef {NonNullable<Awaited<ReturnType<typeof startRedis>>>} RedisServer */

/** Undefined where there is none to start. */
export async function startRedis() {
  const path = spawnSync("sh", ["-c", "command -v redis-server"], { encoding: "utf8" }).stdout.trim();
  if (path === "") return undefined;
  const folder = freshFolder("redis");
  const port = await freePort();
  const options = Object.entries({ ...SETTINGS, port: String(port), bind: "127.0.0.1", dir: folder });
  const server = spawn(
    path,
    options.flatMap(([name, value]) => [`--${name}`, value]),
    { stdio: "ignore" },
  );
  const ended = once(server, "exit");
  process.once("exit", () => server.kill("SIGKILL"));
  const end = async () => {
    server.kill("SIGKILL");
    await ended;
    removed(folder);
  };
  const client = new Redis(port, "127.0.0.1", { maxRetriesPerRequest: null });
  client.on("error", () => {}); // until it listens
  try {
    await Promise.race([
      client.ping(),
      ended.then(() => Promise.reject(new Error("redis-server ended at once."))),
    ]);
  } catch (error) {
    client.disconnect();
    await end();
    throw error;
  }
  const [, version = ""] = /redis_version:(\S+)/.exec(await client.info("server")) ?? [];
  return {
    address: `redis://127.0.0.1:${port}`,
    version,
    settings: SETTINGS,
    pid: server.pid,
    /** @param {string} list @returns {Promise<boolean>} */
    hasAny: async (list) => (await client.llen(list)) > 0,
    empty: () => client.flushall(),
    async stop() {
      client.disconnect();
      await end();
    },
  };
}
