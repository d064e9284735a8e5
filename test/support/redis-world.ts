import { afterAll, beforeAll, onTestFinished } from "vitest";
import type { EffectLease } from "../../src/destinations/destination.ts";
import { type RedisGuard, type RedisGuardOptions, redisGuard } from "../../src/destinations/redis/index.ts";
import { type Generation, type JobId, jobLine, type Owner } from "../../src/protocol/identity.ts";
import { nodeRedis } from "../integrations/redis-clients.ts";
import { RedisServer } from "./redis-server.ts";

export const JOB = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11" as JobId;
export const LATER_JOB = "0198c5a4-6b1f-7000-8000-000000000000" as JobId;
export const LINE = jobLine(JOB);

export function lease(number: number, name = "a", id: JobId = JOB): EffectLease {
  const token = { line: jobLine(id), generation: number as Generation, owner: name as Owner };
  return { token, effectScope: `job:${id}/1` };
}

/** A server for all tests of the enclosing part; each finds it empty by `guardOn`. */
export function sharedServer(settings: Readonly<Record<string, string>> = {}): () => RedisServer {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start(settings);
  });
  afterAll(() => server?.close());
  return () => server;
}

/** A guard on an empty server, by a client of its own. @param client of the client, as `createClient` takes them */
export async function guardOn(
  server: RedisServer,
  options: RedisGuardOptions = {},
  client: object = {},
): Promise<RedisGuard> {
  await server.command("FLUSHALL");
  const connection = await nodeRedis("redis", server.socket, client);
  onTestFinished(() => connection.close());
  return redisGuard(connection.client, options);
}

/** Makes a user who may do everything but these commands. @returns how a client comes as that user */
export async function userOn(
  server: RedisServer,
  ...forbidden: string[]
): Promise<{ username: string; password: string }> {
  const user = { username: "limited", password: "limited" };
  const rules = ["reset", "on", `>${user.password}`, "~*", "&*", "+@all", ...forbidden];
  await server.command("ACL", "SETUSER", user.username, ...rules);
  return user;
}

/** What it rejected with. */
export async function failure(call: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: Error & Record<string, unknown>) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error(`it resolved to ${JSON.stringify(outcome.value)}`);
}
