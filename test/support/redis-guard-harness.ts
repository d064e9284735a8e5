import { type RedisGuard, type RedisWrite, redisGuard } from "../../src/destinations/redis/index.ts";
import type { FencingToken } from "../../src/protocol/identity.ts";
import type { DestinationWorld, EffectRequest, EffectWriter } from "../../src/testing/index.ts";
import type { RedisConnection, RedisLibrary } from "../integrations/redis-clients.ts";
import type { RedisServer } from "./redis-server.ts";

/** How effects are written: as commands, or by a script of the caller's. */
export interface EffectKind {
  readonly append: (key: string, effect: string) => RedisWrite;
  /** Fails after the effect was made. */
  readonly fail: (key: string, effect: string) => RedisWrite;
}

export const BY_COMMANDS: EffectKind = {
  append: (key, effect) => [
    ["RPUSH", key, effect],
    ["LINDEX", key, -1],
  ],
  fail: (key, effect) => [
    ["RPUSH", key, effect],
    ["INCR", key],
  ],
};

export const BY_LUA: EffectKind = {
  append: (key, effect) => ({
    lua: `
      local place = redis.call("RPUSH", KEYS[1], ARGV[1])
      return { place = place, effect = redis.call("LINDEX", KEYS[1], -1) }`,
    keys: [key],
    args: [effect],
  }),
  fail: (key, effect) => ({
    lua: `redis.call("RPUSH", KEYS[1], ARGV[1]); error("failed inside")`,
    keys: [key],
    args: [effect],
  }),
};

let worlds = 0;

/** A list for each line is where its effects land. */
export async function redisGuardWorld(
  server: RedisServer,
  library: RedisLibrary,
  kind: EffectKind,
): Promise<DestinationWorld> {
  worlds += 1;
  const prefix = `{${worlds}}`;
  const connections: RedisConnection[] = [];
  const keyOf = (line: string): string => `${prefix}:effects of ${line}`;
  const another = async (): Promise<RedisGuard> => {
    const connection = await library.connect(server.socket);
    connections.push(connection);
    return redisGuard(connection.client, { prefix });
  };
  const write = async (
    guard: RedisGuard,
    token: FencingToken,
    { scope, ...options }: EffectRequest,
    what: RedisWrite,
  ): Promise<{ answer: string }> => ({
    answer: JSON.stringify(await guard.write({ token, effectScope: scope ?? null }, options, what)),
  });
  const writerOn = (guard: RedisGuard): EffectWriter => ({
    level: guard.level,
    write: (token, options, effect) => write(guard, token, options, kind.append(keyOf(token.line), effect)),
    advance: (token) => guard.advance({ token, effectScope: null }),
    markOf: (line) => guard.markOf(line),
    probe: () => guard.probe(),
  });
  const first = await another();
  return {
    writer: writerOn(first),
    another: async () => writerOn(await another()),
    effects: async (line) => (await server.command("LRANGE", keyOf(line), "0", "-1")) as string[],
    writeWithoutToken: (line, effect) =>
      first.write({ line, effectScope: null } as never, {}, kind.append(keyOf(line), effect)),
    failInside: (token, options, effect) =>
      write(first, token, options, kind.fail(keyOf(token.line), effect)),
    async restart() {
      await server.kill();
      await server.start();
      return writerOn(await another());
    },
    async prune(below) {
      while (!(await first.prune(below)).isDone);
    },
    async close() {
      for (const connection of connections) await connection.close();
    },
  };
}
