/** The clients that a Redis guard takes, each as its users have it, connected to a server's socket. */

import { setTimeout as sleep } from "node:timers/promises";
import type { RedisClient } from "../../src/destinations/redis/index.ts";
import { load } from "./libraries.ts";

export interface RedisConnection {
  readonly client: RedisClient;
  /** Beside any guard. */
  command(...words: string[]): Promise<unknown>;
  close(): Promise<void>;
}

export interface RedisLibrary {
  readonly name: string;
  connect(socket: string): Promise<RedisConnection>;
}

/** @param options of the client, as `createClient` takes them */
export async function nodeRedis(
  name: string,
  socket: string,
  options: object = {},
): Promise<RedisConnection> {
  const client = (await load(name)).createClient({
    socket: { path: socket, reconnectStrategy: 20 },
    ...options,
  });
  client.on("error", () => {}); // killed
  await client.connect();
  return {
    client,
    command: (...words) => client.sendCommand(words),
    close: async () => client.destroy(),
  };
}

async function ioRedis(name: string, socket: string): Promise<RedisConnection> {
  const { Redis } = await load(name);
  const client = new Redis(socket, { retryStrategy: () => 20 });
  client.on("error", () => {});
  while (client.status !== "ready") await sleep(5);
  return {
    client,
    command: (command, ...words) => client.call(command, ...words),
    close: async () => client.disconnect(),
  };
}

async function nodeRedisPool(name: string, socket: string): Promise<RedisConnection> {
  const pool = (await load(name)).createClientPool({ socket: { path: socket } }, { minimum: 2 });
  pool.on("error", () => {});
  await pool.connect();
  return {
    client: pool,
    command: (...words) => pool.sendCommand(words),
    close: async () => void pool.destroy(),
  };
}

export const REDIS_LIBRARIES: readonly RedisLibrary[] = [
  { name: "node-redis 6", connect: (socket) => nodeRedis("redis", socket) },
  { name: "node-redis 6 with RESP 2", connect: (socket) => nodeRedis("redis", socket, { RESP: 2 }) },
  { name: "node-redis 6 with RESP 3", connect: (socket) => nodeRedis("redis", socket, { RESP: 3 }) },
  { name: "a pool of node-redis 6", connect: (socket) => nodeRedisPool("redis", socket) },
  { name: "node-redis 5", connect: (socket) => nodeRedis("redis-5", socket) },
  { name: "ioredis 6", connect: (socket) => ioRedis("ioredis", socket) },
  { name: "ioredis 5", connect: (socket) => ioRedis("ioredis-5", socket) },
];
