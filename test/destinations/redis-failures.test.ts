/** Redis does not roll a script back: what the guard takes back, and what it says where it cannot. */

import { describe, expect, it } from "vitest";
import {
  EffectFailedError,
  EffectHalfMadeError,
  type RedisGuard,
  type RedisWrite,
} from "../../src/destinations/redis/index.ts";
import { StoreUnusableError } from "../../src/errors.ts";
import { optional } from "../support/optional.ts";
import { missingRedis } from "../support/redis-server.ts";
import { failure, guardOn, LATER_JOB, LINE, lease, sharedServer, userOn } from "../support/redis-world.ts";

const BIG = "x".repeat(5_000);
const KEY = `${lease(1).effectScope}/s`;

function write(guard: RedisGuard, number: number, what: RedisWrite): Promise<unknown> {
  return guard.write(lease(number), { step: "s" }, what);
}

optional("a write to Redis that fails in the middle", missingRedis(), () => {
  const server = sharedServer();

  /** Everything that the server holds, as it would be carried to another. */
  async function everything(): Promise<Record<string, unknown>> {
    const names = ((await server().command("KEYS", "*")) as string[]).sort();
    const entries = names.map(async (name) => [
      name,
      await server().command("EVAL", "return redis.sha1hex(redis.call('DUMP', KEYS[1]))", "1", name),
      await server().command("PEXPIRETIME", name),
    ]);
    return Object.fromEntries((await Promise.all(entries)).map(([name, ...held]) => [name, held]));
  }

  describe("is as if it had never been", () => {
    it("whatever kind of key it had written to, its time to live too, and by commands as by Lua", async () => {
      const guard = await guardOn(server());
      await guard.advance(lease(1));
      await server().command("SET", "text", "before", "PX", "10000000");
      await server().command("RPUSH", "list", "a", "b");
      await server().command("HSET", "hash", "a", "1");
      await server().command("SADD", "set", "1", "2");
      await server().command("ZADD", "sorted", "1.5", "a");
      await server().command("XADD", "stream", "1-1", "a", "b");
      await server().command("XGROUP", "CREATE", "stream", "group", "0");
      const before = await everything();
      const commands: RedisWrite = [
        ["SET", "text", "after"],
        ["APPEND", "text", "and after that"],
        ["RPUSH", "list", "c"],
        ["HDEL", "hash", "a"],
        ["SADD", "set", "x"],
        ["RENAME", "sorted", "other"],
        ["XREADGROUP", "GROUP", "group", "me", "STREAMS", "stream", ">"],
        ["SORT", "set", "ALPHA", "STORE", "list"],
        ["DEL", "set"],
        ["SET", "new", "1"],
        ["INCR", "hash-2"],
        ["LPUSH", "hash-2", "1"],
      ];
      const failed = await failure(write(guard, 2, commands));
      expect(failed).toBeInstanceOf(EffectFailedError);
      expect(failed.message).toMatch(
        /^job:.*\/s: the effect failed, and nothing was written\. command 12 of 12 \(LPUSH\): WRONGTYPE/,
      );
      expect(await everything()).toEqual(before);
      const lua = commands.map((words) => `redis.call("${words.join('", "')}")`).join("\n");
      const inLua = await failure(write(guard, 2, { lua, keys: ["text"] }));
      expect(inLua.message).toContain("the script: WRONGTYPE");
      expect(await everything()).toEqual(before);
      expect(await guard.markOf(LINE)).toMatchObject({ generation: 1 });
    });

    it("also where nothing was there before, not even a mark; and the corrected write is made", async () => {
      const guard = await guardOn(server());
      await guard.markOf(LINE);
      const before = await everything();
      const failed = write(guard, 1, [
        ["SET", "a", "text"],
        ["INCR", "a"],
      ]);
      await expect(failed).rejects.toThrow(EffectFailedError);
      expect(await everything()).toEqual(before);
      expect(
        await write(guard, 1, [
          ["SET", "a", 1],
          ["INCR", "a"],
        ]),
      ).toEqual(["OK", 2]);
    });

    it("if Lua catches its own errors and goes on, nothing has failed", async () => {
      const guard = await guardOn(server());
      const lua = `
        redis.call("SET", "a", "text")
        local reply = redis.pcall("INCR", "a")
        return { reply.err ~= nil, (pcall(redis.call, "INCR", "a")) }`;
      expect(await write(guard, 1, { lua, keys: ["a"] })).toEqual([true, null]);
      expect(await server().command("GET", "a")).toBe("text");
    });

    it.each([
      ["a command that there is not", ["FLY", "a"]],
      ["a command with too few arguments", ["SET", "a"]],
      ["a command without its only argument", ["GET"]],
      ["a command that scripts may not give", ["SUBSCRIBE", "a"]],
    ] as const)("if it has %s, which is found before the first one runs", async (_, bad) => {
      const guard = await guardOn(server(), { undoBytes: 0 }); // nothing could be put back
      await server().command("SET", "big", BIG);
      const failed = await failure(write(guard, 1, [["APPEND", "big", "y"], [...bad]]));
      expect(failed).toBeInstanceOf(EffectFailedError);
      expect(failed.message).toContain(`command 2 of 2 (${bad[0]}): ERR`);
      expect(await server().command("STRLEN", "big")).toBe(BIG.length);
    });

    it("if a single command fails on a key of any size: it has written nothing", async () => {
      const guard = await guardOn(server(), { undoBytes: 0 });
      await server().command("SET", "big", BIG);
      const failed = await failure(write(guard, 1, [["INCR", "big"]]));
      expect(failed).toBeInstanceOf(EffectFailedError);
      expect(failed.message).toContain("command 1 of 1 (INCR)");
    });

    it("if it only read what is large, and asked the time", async () => {
      const guard = await guardOn(server(), { undoBytes: 100 });
      await server().command("SET", "big", BIG);
      const lua = `redis.call("TIME"); redis.call("GET", "big"); redis.call("SET", "a", 1); error("no")`;
      await expect(write(guard, 1, { lua, keys: ["a", "big"] })).rejects.toThrow(EffectFailedError);
      expect(await server().command("EXISTS", "a")).toBe(0);
    });

    it("if it would have led the guard to another database", async () => {
      const guard = await guardOn(server());
      const failed = await failure(
        write(guard, 1, [
          ["SET", "a", 1],
          ["select", "1"],
        ]),
      );
      expect(failed).toBeInstanceOf(EffectFailedError);
      expect(await server().command("EXISTS", "a")).toBe(0);
    });

    it("if the user may not give one of the commands", async () => {
      const guard = await guardOn(server(), { undoBytes: 0 }, await userOn(server(), "-incr"));
      await server().command("SET", "big", BIG);
      await expect(
        write(guard, 1, [
          ["APPEND", "big", "y"],
          ["INCR", "a"],
        ]),
      ).rejects.toThrow(StoreUnusableError);
      expect(await server().command("STRLEN", "big")).toBe(BIG.length);
    });
  });

  describe("is half made, and never taken for done", () => {
    const half: RedisWrite = [
      ["APPEND", "big", "y"],
      ["INCR", "big"],
    ];

    it("where a key was too large to be copied: now, and for each later attempt, whoever makes it", async () => {
      const guard = await guardOn(server(), { undoBytes: 4_000 });
      await server().command("SET", "big", BIG);
      const first = await failure(write(guard, 1, half));
      expect(first).toBeInstanceOf(EffectHalfMadeError);
      expect(first).toMatchObject({ key: KEY, isEarlier: false });
      expect(first.message).toMatch(
        /command 2 of 2 \(INCR\): ERR value is not an integer.*big is larger than undoBytes/,
      );
      for (const number of [1, 2]) {
        const later = await failure(write(guard, number, [["APPEND", "big", "y"]]));
        expect(later).toBeInstanceOf(EffectHalfMadeError);
        expect(later).toMatchObject({ key: KEY, isEarlier: true });
      }
      expect(await server().command("STRLEN", "big")).toBe(BIG.length + 1);
      expect(await guard.markOf(LINE)).toMatchObject({ generation: 1 });
      await expect(guard.write(lease(0), { step: "s" }, half)).rejects.toMatchObject({
        code: "LH_STALE_TOKEN",
      });
    });

    it.each([
      ["a single command", [["GETDEL", "huge"]]],
      [
        "the last of several",
        [
          ["SET", "a", 1],
          ["GETDEL", "huge"],
        ],
      ],
    ] as const)("where %s has written, and only its answer fails", async (_, commands) => {
      const guard = await guardOn(server());
      await server().command("SET", "huge", "x".repeat(1_100_000));
      const failed = await failure(write(guard, 1, commands));
      expect(failed).toBeInstanceOf(EffectHalfMadeError);
      expect(failed.message).toContain("GETDEL has written");
      expect(await server().command("EXISTS", "huge")).toBe(0);
      await expect(write(guard, 1, commands)).rejects.toMatchObject({ isEarlier: true });
      // What has only read has failed, and nothing else.
      await server().command("SET", "huge", "x".repeat(1_100_000));
      const read = write(
        guard,
        2,
        commands.map(() => ["GET", "huge"] as const),
      );
      await expect(read).rejects.toThrow(EffectHalfMadeError);
      await guard.clearHalfMade(KEY);
      await expect(write(guard, 2, [["GET", "huge"]])).rejects.toThrow(EffectFailedError);
    });

    it("until a person clears it: then the next attempt makes it", async () => {
      const guard = await guardOn(server(), { undoBytes: 4_000 });
      await server().command("SET", "big", BIG);
      await failure(write(guard, 1, half));
      expect(await guard.clearHalfMade(KEY)).toBe(true);
      expect(await guard.clearHalfMade(KEY)).toBe(false);
      expect(await write(guard, 2, [["STRLEN", "big"]])).toEqual([BIG.length + 1]);
    });

    it("where something was published, or every key deleted", async () => {
      for (const lasting of [["PUBLISH", "channel", "x"], ["FLUSHDB"]] as const) {
        const guard = await guardOn(server());
        const failed = await failure(write(guard, 1, [[...lasting], ["SET", "a", "x"], ["INCR", "a"]]));
        expect(failed).toBeInstanceOf(EffectHalfMadeError);
        expect(failed.message).toContain(`${lasting[0]} cannot be taken back`);
      }
    });

    it.each(["-restore", "-dump", "-pexpiretime", "-command"])(
      "where the user may not do what putting a key back takes: %s",
      async (forbidden) => {
        const guard = await guardOn(server(), {}, await userOn(server(), forbidden));
        await server().command("SET", "a", "text");
        const failed = write(guard, 1, [
          ["APPEND", "a", "x"],
          ["INCR", "a"],
        ]);
        await expect(failed).rejects.toThrow(EffectHalfMadeError);
        expect(await server().command("GET", "a")).toBe("textx");
      },
    );

    it("without a step as well, though nothing can be remembered of it", async () => {
      const guard = await guardOn(server(), { undoBytes: 4_000 });
      await server().command("SET", "big", BIG);
      const failed = await failure(guard.write(lease(1), {}, half));
      expect(failed).toMatchObject({ code: "LH_EFFECT_HALF_MADE", key: LINE, isEarlier: false });
      expect(await guard.markOf(LINE)).toMatchObject({ generation: 1 });
    });

    it("and is forgotten when its job is pruned", async () => {
      const guard = await guardOn(server(), { undoBytes: 4_000 });
      await server().command("SET", "big", BIG);
      await failure(write(guard, 1, half));
      await guard.prune(LATER_JOB);
      expect(await server().command("EXISTS", "{leasehold}:half")).toBe(0);
    });
  });
});
