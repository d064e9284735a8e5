/** A client of the guard's own, by whichever library is installed. */

import { StoreUnusableError } from "../../errors.ts";
import type { IoRedisClient, NodeRedisClient, RedisClient } from "./client.ts";

export interface OwnClient {
  readonly client: RedisClient;
  close(): Promise<void>;
}

interface NodeRedis {
  createClient(options: object): NodeRedisClient & {
    on(event: "error", listener: (error: Error) => void): unknown;
    connect(): Promise<unknown>;
    close(): Promise<void>;
    destroy(): void;
  };
}

interface IoRedis {
  readonly Redis: new (
    url: string,
    options: object,
  ) => IoRedisClient & {
    on(event: "error", listener: (error: Error) => void): unknown;
    connect(): Promise<void>;
    disconnect(): void;
  };
}

/** @throws {StoreUnusableError} when neither `redis` nor `ioredis` is installed */
export async function openClient(url: string): Promise<OwnClient> {
  const nodeRedis = await load<NodeRedis>("redis");
  if (nodeRedis !== undefined) {
    const client = nodeRedis.createClient({ url });
    client.on("error", () => {}); // a lost connection is told by the command that needs it
    await client.connect();
    return { client, close: () => client.close() };
  }
  const ioRedis = await load<IoRedis>("ioredis");
  if (ioRedis !== undefined) {
    // It would send what got no answer once more by itself: a write without a step could land twice.
    const client = new ioRedis.Redis(url, { lazyConnect: true, autoResendUnfulfilledCommands: false });
    client.on("error", () => {});
    await client.connect();
    return { client, close: async () => client.disconnect() };
  }
  throw new StoreUnusableError("The Redis guard needs redis or ioredis, and neither package is installed.", {
    next: "Run `npm install redis`, or pass a client of your own: redisGuard(client).",
  });
}

/** By a name that no compiler knows: both are the caller's to install, and one is enough. */
async function load<Library>(name: string): Promise<Library | undefined> {
  try {
    const module = (await import(name)) as Library & { default?: Library };
    return module.default ?? module;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
