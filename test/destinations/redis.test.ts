import { describe, expect, it, onTestFinished } from "vitest";
import { redisGuard } from "../../src/destinations/redis/index.ts";
import {
  ClosedError,
  EffectMismatchError,
  InvalidArgumentError,
  PrunedLineError,
  SchemaVersionError,
  StaleTokenError,
  StoreBusyError,
  StoreUnusableError,
  UnknownOutcomeError,
} from "../../src/index.ts";
import { jobLine } from "../../src/protocol/identity.ts";
import { nodeRedis } from "../integrations/redis-clients.ts";
import { optional } from "../support/optional.ts";
import { missingRedis } from "../support/redis-server.ts";
import {
  failure,
  guardOn,
  JOB,
  LATER_JOB,
  LINE,
  lease,
  sharedServer,
  userOn,
} from "../support/redis-world.ts";

describe("the guard on Redis, before it is connected", () => {
  it.each([undefined, {}, { eval() {} }, 7])("wants a client or an address: %j is none", (client) => {
    expect(() => redisGuard(client as never)).toThrow(InvalidArgumentError);
  });

  it("shows no address in an error, which may hold a password", () => {
    expect(() => redisGuard("http://:secret@host")).toThrow(InvalidArgumentError);
    expect(() => redisGuard("http://:secret@host")).not.toThrow("secret");
  });

  it.each([
    { prefix: "accounts" },
    { prefix: "{}" },
    { prefix: "{a}{b}" },
    { timeoutMs: 0 },
    { replicas: -1 },
    { replicas: 1, replicasTimeoutMs: 0 },
    { undoBytes: 0.5 },
  ])("refuses %j", (options) => {
    expect(() => redisGuard("redis://localhost", options)).toThrow(InvalidArgumentError);
  });
});

optional("the guard on Redis", missingRedis(), () => {
  const server = sharedServer();

  it("answers with what the commands said, the first time as later", async () => {
    const guard = await guardOn(server());
    const write = (number: number) =>
      guard.write(lease(number), { step: "s" }, [
        ["SET", "text", 'é "\\/ \u2028'],
        ["GET", "text"],
        ["GET", "nothing"],
        ["INCRBY", "count", Number.MAX_SAFE_INTEGER],
        ["HSET", "hash", "a", 1, "b", 2],
        ["HGETALL", "hash"],
        ["SMEMBERS", "nothing"],
        ["PEXPIRE", "count", 100_000],
        ["ZADD", "sorted", 1.5, "x"],
        ["ZRANGE", "sorted", 0, -1, "WITHSCORES"],
      ]);
    const first = await write(1);
    expect(first).toEqual([
      "OK",
      'é "\\/ \u2028',
      null,
      Number.MAX_SAFE_INTEGER,
      2,
      ["a", "1", "b", "2"],
      [],
      1,
      1,
      ["x", "1.5"],
    ]);
    expect(await write(2)).toEqual(first);
    expect(await server().command("GET", "count")).toBe(String(Number.MAX_SAFE_INTEGER));
  });

  it("takes bytes, and numbers as JavaScript writes them", async () => {
    const guard = await guardOn(server());
    await guard.write(lease(1), {}, [["RPUSH", "list", 0.5, -3, new Uint8Array([0, 104, 105])]]);
    expect(await server().command("LRANGE", "list", "0", "-1")).toEqual(["0.5", "-3", "\0hi"]);
    for (const bad of [[["SET", "a", Number.NaN]], [["SET", "a", null]], [[]], [""], ["SET"], null, {}])
      await expect(guard.write(lease(1), {}, bad as never)).rejects.toThrow(InvalidArgumentError);
  });

  it("writes by Lua what depends on a read, and answers with whatever JSON can hold", async () => {
    const guard = await guardOn(server());
    await server().command("SET", "stock", "3");
    const take = (number: number, step: string) =>
      guard.write(
        lease(number),
        { step },
        {
          lua: `
          local left = tonumber(redis.call("GET", KEYS[1]))
          if left < tonumber(ARGV[1]) then return { err = "only " .. left .. " left" } end
          left = redis.call("DECRBY", KEYS[1], ARGV[1])
          return { left = left, half = left / 2, none = redis.call("GET", "none"), list = {}, yes = true } -- a comment`,
          keys: ["stock"],
          args: [2],
        },
      );
    expect(await take(1, "a")).toEqual({ left: 1, half: 0.5, none: null, list: [], yes: true });
    expect(await take(2, "a")).toEqual({ left: 1, half: 0.5, none: null, list: [], yes: true });
    const refused = await failure(take(2, "b"));
    expect(refused).toMatchObject({ code: "LH_EFFECT_FAILED" });
    expect(refused.message).toContain("only 1 left");
    expect(await server().command("GET", "stock")).toBe("1");
  });

  it("tells the line of a mistake in Lua as its author counts it", async () => {
    const guard = await guardOn(server());
    const write = (lua: string) => failure(guard.write(lease(1), { step: "s" }, { lua }));
    expect((await write("local x = 1\nreturn x.y.z")).message).toMatch(
      /the script: line 2: attempt to index/,
    );
    const compiling = await write("local x =\n1 +");
    expect(compiling).toBeInstanceOf(InvalidArgumentError);
    expect(compiling.message).toMatch(/line [23]:/);
    expect((await write("return { function() end }")).message).toContain("JSON does not know");
    expect((await write("return 0 / 0")).message).toContain("JSON does not know");
    expect((await write("return string.rep('x', 1048577)")).message).toContain("bytes");
    expect(await guard.markOf(LINE)).toBeUndefined();
  });

  it("goes on when the server has forgotten its scripts", async () => {
    const guard = await guardOn(server());
    for (let n = 1; n <= 2; n++) {
      expect(await guard.write(lease(1), {}, [["INCR", "count"]])).toEqual([n]);
      await server().command("SCRIPT", "FLUSH");
    }
    expect(await guard.markOf(LINE)).toEqual({ generation: 1, owner: "a" });
  });

  it("D2 keeps generations up to 2^53 − 1, and sends none above", async () => {
    const guard = await guardOn(server());
    for (const number of [2 ** 32 - 1, 2 ** 32, 2 ** 53 - 2, 2 ** 53 - 1]) {
      await guard.advance(lease(number));
      expect(await guard.markOf(LINE)).toEqual({ generation: number, owner: "a" });
      await expect(guard.advance(lease(number - 1))).rejects.toThrow(StaleTokenError);
      await expect(guard.advance(lease(number, "b"))).rejects.toThrow(StaleTokenError);
    }
    await expect(guard.advance(lease(2 ** 53))).rejects.toThrow(InvalidArgumentError);
  });

  it("D4 another request raises no mark, a named lease has no step, and nothing is sent without trust", async () => {
    const guard = await guardOn(server());
    await guard.write(lease(1), { step: "s", request: 1 }, [["INCR", "count"]]);
    const other = guard.write(lease(2), { step: "s", request: 2 }, [["INCR", "count"]]);
    await expect(other).rejects.toThrow(EffectMismatchError);
    expect(await guard.markOf(LINE)).toMatchObject({ generation: 1 });
    const named = { ...lease(3), effectScope: null };
    await expect(guard.write(named, { step: "s" }, [])).rejects.toThrow(InvalidArgumentError);
    const distrusted = {
      ...lease(3),
      assertTrusted() {
        throw new Error("not trusted");
      },
    };
    await expect(guard.write(distrusted, {}, [["INCR", "count"]])).rejects.toThrow("not trusted");
    expect(await server().command("GET", "count")).toBe("1");
  });

  it("D7 gives marks and answers up in pieces, and leaves nothing of them", async () => {
    const guard = await guardOn(server());
    for (const step of ["s", "t"]) await guard.write(lease(5), { step }, []);
    await guard.write(lease(1, "a", LATER_JOB), { step: "s" }, []);
    const removed = { marks: 0, answers: 0 };
    for (let isDone = false; !isDone; ) {
      const pruned = await guard.prune(LATER_JOB, 1);
      removed.marks += pruned.marks;
      removed.answers += pruned.answers;
      isDone = pruned.isDone;
    }
    expect(removed).toEqual({ marks: 1, answers: 2 });
    await expect(guard.advance(lease(6))).rejects.toThrow(PrunedLineError);
    for (const [name, command] of Object.entries({
      marks: "HLEN",
      answers: "HLEN",
      lines: "ZCARD",
      steps: "ZCARD",
    }))
      expect(await server().command(command, `{leasehold}:${name}`), name).toBe(1);
    await guard.prune(JOB);
    await expect(guard.advance(lease(6))).rejects.toThrow(PrunedLineError);
    expect(await guard.markOf(jobLine(LATER_JOB))).toMatchObject({ generation: 1 });
  });

  it("two guards of two prefixes know nothing of each other", async () => {
    const [one, two] = [
      await guardOn(server(), { prefix: "{1}" }),
      await guardOn(server(), { prefix: "{2}" }),
    ];
    await one.advance(lease(9));
    expect(await two.markOf(LINE)).toBeUndefined();
  });

  it("refuses to work on a schema that it does not know", async () => {
    const guard = await guardOn(server());
    await server().command("HSET", "{leasehold}:guard", "schema_version", "2");
    await expect(guard.advance(lease(1))).rejects.toThrow(SchemaVersionError);
    await server().command("HSET", "{leasehold}:guard", "schema_version", "1");
    await guard.advance(lease(1)); // a failed opening is not the last one
  });

  describe("a server that may evict marks", () => {
    const limit = async (maxmemory: string, policy: string): Promise<void> => {
      await server().command("CONFIG", "SET", "maxmemory", maxmemory, "maxmemory-policy", policy);
      onTestFinished(async () => {
        await server().command("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction");
      });
    };

    it.each(["allkeys-lru", "allkeys-lfu", "allkeys-random"])("is refused: %s", async (policy) => {
      const guard = await guardOn(server());
      await limit("100mb", policy);
      const refused = await failure(guard.write(lease(1), {}, [["SET", "a", "b"]]));
      expect(refused).toBeInstanceOf(StoreUnusableError);
      expect(refused.message).toContain(policy);
      expect(await guard.probe()).toEqual({ isProven: false, why: expect.stringContaining(policy) });
      expect(await server().command("EXISTS", "a")).toBe(0);
    });

    it.each([
      ["100mb", "volatile-lru"],
      ["100mb", "noeviction"],
      ["0", "allkeys-lru"],
    ])("is none with maxmemory %s and %s", async (maxmemory, policy) => {
      const guard = await guardOn(server());
      await limit(maxmemory, policy);
      expect(await guard.probe()).toEqual({ isProven: true });
    });

    it("is not known where INFO is not permitted: writes go on, and the probe says that it is not proven", async () => {
      const guard = await guardOn(server(), {}, await userOn(server(), "-info"));
      await guard.write(lease(1), {}, [["SET", "a", "b"]]);
      expect(await guard.probe()).toEqual({
        isProven: false,
        why: expect.stringContaining("INFO is not permitted"),
      });
    });
  });

  it("D9 the probe leaves nothing but the guard's own version", async () => {
    const guard = await guardOn(server());
    expect(await guard.probe()).toEqual({ isProven: true });
    expect(await server().command("KEYS", "*")).toEqual(["{leasehold}:guard"]);
  });

  it("writes nothing where the memory is full, and says so", async () => {
    const guard = await guardOn(server());
    await guard.advance(lease(1));
    await server().command("CONFIG", "SET", "maxmemory", "1");
    onTestFinished(async () => void (await server().command("CONFIG", "SET", "maxmemory", "0")));
    for (const step of [undefined, "s"]) {
      // DEL needs no memory: the server would let it through.
      const call = guard.write(lease(1), step === undefined ? {} : { step }, [
        ["SET", "a", "b"],
        ["DEL", "c"],
      ]);
      await expect(call).rejects.toThrow(StoreUnusableError);
    }
    expect(await server().command("EXISTS", "a")).toBe(0);
    await server().command("CONFIG", "SET", "maxmemory", "0");
    expect(await guard.write(lease(1), { step: "s" }, [["SET", "a", "b"]])).toEqual(["OK"]);
  });

  it("C11 without an answer in time the outcome is unknown, and the repeat tells it", async () => {
    const guard = await guardOn(server());
    await guard.advance(lease(1));
    const connection = await nodeRedis("redis", server().socket);
    onTestFinished(() => connection.close());
    const hasty = redisGuard(connection.client, { timeoutMs: 30 });
    await hasty.advance(lease(1));
    await server().command("CLIENT", "PAUSE", "60000", "WRITE");
    const write = () => hasty.write(lease(1), { step: "s" }, [["INCR", "count"]]);
    const late = await failure(write());
    await server().command("CLIENT", "UNPAUSE");
    expect(late).toBeInstanceOf(UnknownOutcomeError);
    expect(late.message).toContain("Redis gave no usable answer");
    expect(await guard.write(lease(1), { step: "s" }, [["INCR", "count"]])).toEqual([1]);
    expect(await server().command("GET", "count")).toBe("1");
  });

  it("certainly writes nothing by a client that was closed, nor after its own end", async () => {
    const connection = await nodeRedis("redis", server().socket);
    const guard = redisGuard(connection.client);
    await guard.advance(lease(1));
    await connection.close();
    await expect(guard.advance(lease(1))).rejects.toThrow(StoreBusyError);
    await guard.close();
    await expect(guard.advance(lease(1))).rejects.toThrow(ClosedError);
  });
});
