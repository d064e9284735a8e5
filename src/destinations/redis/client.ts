/** What is used of the caller's client: node-redis (`redis`) or `ioredis`, told apart by their methods. */

import { InvalidArgumentError } from "../../errors.ts";
import type { Script } from "./scripts.ts";

type Argument = string | Buffer;

/** Of node-redis: `createClient()`, `createClientPool()`, `createCluster()` or `createSentinel()`, connected. */
export interface NodeRedisClient {
  // biome-ignore lint/suspicious/noExplicitAny: its own types are generic in modules, scripts and protocol
  evalSha(sha: string, options: any): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  eval(script: string, options: any): Promise<unknown>;
}

/** Of ioredis: `new Redis()` or `new Cluster()`. */
export interface IoRedisClient {
  // biome-ignore lint/suspicious/noExplicitAny: it has overloads for callbacks, too
  call(command: string, ...args: any[]): Promise<unknown>;
  readonly status: string;
}

export type RedisClient = NodeRedisClient | IoRedisClient;

/** One way to talk to a server, whatever the client. */
export interface Channel {
  readonly isCluster: boolean;
  /** Whether all that is sent goes over one connection, in order. */
  readonly isOneConnection: boolean;
  evalSha(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  evalText(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** Only where `isOneConnection`. */
  command(...words: string[]): Promise<unknown>;
}

/** @throws {InvalidArgumentError} it is neither */
export function channelOf(client: RedisClient): Channel {
  if (isFunction(client, "call") && "status" in client) return ioRedis(client as IoRedisClient);
  if (isFunction(client, "evalSha") && isFunction(client, "eval"))
    return nodeRedis(client as NodeRedisClient);
  throw new InvalidArgumentError(
    "client",
    client,
    "a client of node-redis or ioredis, or an address such as redis://localhost:6379",
  );
}

function nodeRedis(client: NodeRedisClient): Channel {
  const isCluster = isFunction(client, "nodeClient");
  const isPool = isFunction(client, "execute") || isFunction(client, "acquire"); // or a sentinel's
  const options = (keys: readonly string[], args: readonly Argument[]) => ({
    keys: [...keys],
    arguments: [...args],
  });
  return {
    isCluster,
    isOneConnection: !isCluster && !isPool,
    evalSha: ({ sha }, keys, args) => client.evalSha(sha, options(keys, args)),
    evalText: ({ text }, keys, args) => client.eval(text, options(keys, args)),
    command: (...words) =>
      (client as unknown as { sendCommand(words: string[]): Promise<unknown> }).sendCommand(words),
  };
}

function ioRedis(client: IoRedisClient): Channel {
  const isCluster = isFunction(client, "nodes");
  return {
    isCluster,
    isOneConnection: !isCluster,
    evalSha: ({ sha }, keys, args) => client.call("EVALSHA", sha, keys.length, ...keys, ...args),
    evalText: ({ text }, keys, args) => client.call("EVAL", text, keys.length, ...keys, ...args),
    command: (command, ...words) => client.call(command as string, ...words),
  };
}

function isFunction(client: unknown, name: string): boolean {
  return typeof (client as Record<string, unknown> | null | undefined)?.[name] === "function";
}
