/** The guard on Redis by each client that applications have, by one of its own, and on a cluster. */

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type RedisClient, redisGuard } from "../../src/destinations/redis/index.ts";
import { InvalidArgumentError, StaleTokenError } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/keeping.js";
import { optional } from "../support/optional.ts";
import { missingRedis, RedisServer } from "../support/redis-server.ts";
import { failure, LINE, lease, sharedServer } from "../support/redis-world.ts";
import { load } from "./libraries.ts";
import { REDIS_LIBRARIES } from "./redis-clients.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

optional("the clients of Redis", missingRedis(), () => {
  const server = sharedServer();

  describe.each(REDIS_LIBRARIES)("$name", ({ connect }) => {
    it("writes, answers, refuses and is refused as every other one", async () => {
      await server().command("FLUSHALL");
      await server().command("SCRIPT", "FLUSH");
      const connection = await connect(server().socket);
      onTestFinished(() => connection.close());
      const guard = redisGuard(connection.client);
      expect(await guard.probe()).toEqual({ isProven: true });
      const write = (number: number) =>
        guard.write(lease(number), { step: "é" }, [
          ["SET", "bytes", new Uint8Array([0xff, 0xfe])],
          ["INCRBY", "count", 5],
          ["GET", "nothing"],
        ]);
      expect(await write(1)).toEqual(["OK", 5, null]);
      expect(await write(2)).toEqual(["OK", 5, null]);
      await expect(write(1)).rejects.toThrow(StaleTokenError);
      expect(await guard.markOf(LINE)).toEqual({ generation: 2, owner: "a" });
      expect(await server().command("STRLEN", "bytes")).toBe(2);
      expect(
        await guard.write(lease(2), {}, { lua: "return { n = KEYS[1] .. ARGV[1] }", keys: ["k"], args: [1] }),
      ).toEqual({
        n: "k1",
      });
      const failed = await failure(
        guard.write(lease(2), { step: "t" }, [
          ["SET", "a", "x"],
          ["INCR", "a"],
        ]),
      );
      expect(failed).toMatchObject({ code: "LH_EFFECT_FAILED" });
      expect(await failure(guard.write(lease(2), {}, { lua: "this is no Lua" }))).toBeInstanceOf(
        InvalidArgumentError,
      );
    });
  });

  it("a client that gives bytes for texts will do", async () => {
    await server().command("FLUSHALL");
    const { createClient, RESP_TYPES } = await load("redis");
    const client = createClient({
      socket: { path: server().socket },
      commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    });
    await client.connect();
    onTestFinished(() => client.destroy());
    const guard = redisGuard(client);
    expect(await guard.write(lease(1), { step: "s" }, [["ECHO", "é"]])).toEqual(["é"]);
    expect(await guard.markOf(LINE)).toEqual({ generation: 1, owner: "a" });
  });

  describe("an address", () => {
    /** A program with only these packages installed. */
    async function run(installed: readonly string[]): Promise<string> {
      const folder = mkdtempSync(join(tmpdir(), "leasehold-redis-"));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      mkdirSync(join(folder, "node_modules", "leasehold"), { recursive: true });
      for (const name of ["dist", "package.json"])
        symlinkSync(join(ROOT, name), join(folder, "node_modules", "leasehold", name));
      symlinkSync(join(ROOT, "node_modules", "uuid"), join(folder, "node_modules", "uuid"));
      for (const name of installed)
        symlinkSync(
          join(ROOT, "test", "integrations", "node_modules", name),
          join(folder, "node_modules", name),
        );
      writeFileSync(
        join(folder, "program.mjs"),
        `import { redisGuard } from "leasehold/destinations/redis";
        const guard = redisGuard(process.argv[2]);
        const token = { line: "lease:a", generation: 1, owner: "a" };
        const write = guard.write({ token, effectScope: null }, {}, [["SET", "by", "address"], ["GET", "by"]]);
        console.log(await write.catch(({ code, message }) => code + " " + message));
        await guard.close();`,
      );
      const args = [
        "--preserve-symlinks",
        "--preserve-symlinks-main",
        "program.mjs",
        `redis://127.0.0.1:${server().port}`,
      ];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
      return stdout.trim();
    }

    it.each([
      ["redis", ["redis", "@redis", "cluster-key-slot"]],
      [
        "ioredis",
        [
          "ioredis",
          "@ioredis",
          "cluster-key-slot",
          "debug",
          "ms",
          "denque",
          "redis-errors",
          "standard-as-callback",
        ],
      ],
    ])("is enough where %s is installed, and close() lets the process end", async (_, packages) => {
      await server().command("FLUSHALL");
      expect(await run(packages)).toBe("[ 'OK', 'address' ]");
    });

    it("without either library is told what to install", async () => {
      expect(await run([])).toMatch(/^LH_STORE_UNUSABLE .*redis or ioredis.*npm install redis/);
    });
  });
});

optional("a cluster of Redis", missingRedis(), () => {
  let server: RedisServer;
  beforeAll(async () => {
    const port = await freePort();
    server = await RedisServer.start({
      "cluster-enabled": "yes",
      "cluster-port": String(port),
      "cluster-announce-ip": "127.0.0.1", // alone, it would not know its own
    });
    await server.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
    await eventually("the cluster is up", async () =>
      String(await server.command("CLUSTER", "INFO")).includes("cluster_state:ok"),
    );
  });
  afterAll(() => server?.close());

  const clients: readonly { name: string; connect(): Promise<{ client: RedisClient; close(): void }> }[] = [
    ...["redis", "redis-5"].map((name) => ({
      name,
      async connect() {
        const { createCluster } = await load(name);
        const client = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${server.port}` }] });
        await client.connect();
        return { client, close: () => client.destroy() };
      },
    })),
    ...["ioredis", "ioredis-5"].map((name) => ({
      name,
      async connect() {
        const { Cluster } = await load(name);
        const client = new Cluster([{ host: "127.0.0.1", port: server.port }]);
        return { client, close: () => client.disconnect() };
      },
    })),
  ];

  it.each(clients)(
    "by $name: keys of one tag are guarded, and others refused with the tag in words",
    async ({ connect }) => {
      await server.command("FLUSHALL");
      const { client, close } = await connect();
      onTestFinished(() => close());
      const guard = redisGuard(client, { prefix: "{accounts}:fence" });
      expect(await guard.probe()).toEqual({ isProven: true });
      const write = (key: string) =>
        guard.write(lease(1), {}, [
          ["INCR", "{accounts}:a"],
          ["INCR", key],
        ]);
      expect(await write("{accounts}:b")).toEqual([1, 1]);
      const refused = await failure(write("elsewhere"));
      expect(refused).toBeInstanceOf(InvalidArgumentError);
      expect(refused.message).toContain("keys that all have the tag {accounts}");
      expect(await failure(guard.write(lease(1), {}, [["INCR", "elsewhere"]]))).toBeInstanceOf(
        InvalidArgumentError,
      );
      const lua = { lua: `return redis.call("INCR", KEYS[1])`, keys: ["elsewhere"] };
      expect(await failure(guard.write(lease(1), {}, lua))).toBeInstanceOf(InvalidArgumentError);
      expect(await server.command("GET", "{accounts}:a")).toBe("1");
      expect(await server.command("EXISTS", "elsewhere")).toBe(0);
      expect(() => redisGuard(client, { replicas: 1 })).toThrow(InvalidArgumentError);
    },
  );
});
