/** What a failover loses, and what waiting for replicas saves of it. */

import { describe, expect, it, onTestFinished } from "vitest";
import { type RedisGuard, type RedisGuardOptions, redisGuard } from "../../src/destinations/redis/index.ts";
import {
  InvalidArgumentError,
  StaleTokenError,
  StoreBusyError,
  UnknownOutcomeError,
} from "../../src/index.ts";
import { nodeRedis, REDIS_LIBRARIES } from "../integrations/redis-clients.ts";
import { eventually } from "../support/eventually.ts";
import { optional } from "../support/optional.ts";
import { missingRedis, RedisServer } from "../support/redis-server.ts";
import { failure, LINE, lease } from "../support/redis-world.ts";

interface Pair {
  readonly primary: RedisServer;
  readonly replica: RedisServer;
}

async function pair(): Promise<Pair> {
  const [primary, replica] = [await RedisServer.start(), await RedisServer.start()];
  onTestFinished(() => primary.close());
  onTestFinished(() => replica.close());
  const both = { primary, replica };
  await follow(both);
  return both;
}

async function follow({ primary, replica }: Pair): Promise<void> {
  await replica.command("REPLICAOF", "127.0.0.1", String(primary.port));
  await eventually("the replica follows", async () =>
    String(await primary.command("INFO", "replication")).includes("state=online"),
  );
}

/** The link is cut: from now on the replica gets nothing, and does not know. */
async function cutOff({ primary, replica }: Pair): Promise<void> {
  await replica.command("REPLICAOF", "127.0.0.1", "1");
  await eventually("the primary has no replica", async () =>
    String(await primary.command("INFO", "replication")).includes("connected_slaves:0"),
  );
}

async function caughtUp({ primary, replica }: Pair): Promise<void> {
  const offset = async (server: RedisServer) =>
    /(?:slave|master)_repl_offset:(\d+)/.exec(String(await server.command("INFO", "replication")))?.[1];
  await eventually("the replica has it all", async () => (await offset(primary)) === (await offset(replica)));
}

async function guardOn(server: RedisServer, options: RedisGuardOptions = {}): Promise<RedisGuard> {
  const connection = await nodeRedis("redis", server.socket);
  onTestFinished(() => connection.close());
  return redisGuard(connection.client, options);
}

const increase = (guard: RedisGuard, number: number, name: string, step: string) =>
  guard.write(lease(number, name), { step }, [["INCRBY", "balance", number]]);

optional("the guard on a Redis that fails over", missingRedis(), () => {
  it("loses what the replica had not got: mark, effect and answer go back together", async () => {
    const servers = await pair();
    const guard = await guardOn(servers.primary);
    expect(await increase(guard, 7, "A", "first")).toEqual([7]);
    await caughtUp(servers);
    await cutOff(servers);
    expect(await increase(guard, 8, "B", "second")).toEqual([15]);
    await expect(increase(guard, 7, "A", "late")).rejects.toThrow(StaleTokenError);
    await servers.primary.kill();
    await servers.replica.command("REPLICAOF", "NO", "ONE");

    const after = await guardOn(servers.replica);
    expect(await after.markOf(LINE)).toEqual({ generation: 7, owner: "A" });
    expect(await servers.replica.command("GET", "balance")).toBe("7");
    // Nothing here knows of 8 any more: until its owner shows itself, the one before is admitted again.
    expect(await increase(after, 7, "A", "late")).toEqual([14]);
    await after.advance(lease(8, "B"));
    await expect(increase(after, 7, "A", "later")).rejects.toThrow(StaleTokenError);
    // There is no record of a success whose effect is gone, so the repeat makes it.
    expect(await increase(after, 8, "B", "second")).toEqual([22]);
    expect(await increase(after, 8, "B", "first")).toEqual([7]);
  });

  describe("with replicas: 1", () => {
    const options = { replicas: 1, replicasTimeoutMs: 200 };

    it("a write that the replica has outlives the primary", async () => {
      const servers = await pair();
      const guard = await guardOn(servers.primary, { replicas: 1, replicasTimeoutMs: 20_000 });
      expect(await increase(guard, 8, "B", "s")).toEqual([8]);
      await servers.primary.kill();
      await servers.replica.command("REPLICAOF", "NO", "ONE");
      const after = await guardOn(servers.replica);
      await expect(increase(after, 7, "A", "late")).rejects.toThrow(StaleTokenError);
      expect(await increase(after, 9, "C", "s")).toEqual([8]);
    });

    it("a write that it has not is an unknown outcome, and so is its repeat until it has", async () => {
      const servers = await pair();
      const guard = await guardOn(servers.primary, options);
      await cutOff(servers);
      for (let n = 1; n <= 2; n++) {
        const unknown = await failure(increase(guard, 8, "B", "s"));
        expect(unknown).toBeInstanceOf(UnknownOutcomeError);
        expect(String(unknown["cause"])).toContain("0 of 1 replicas");
      }
      await expect(guard.advance(lease(8, "B"))).rejects.toThrow(UnknownOutcomeError);
      await expect(guard.advance(lease(7, "A"))).rejects.toThrow(StaleTokenError);
      await follow(servers);
      const another = await guardOn(servers.primary, { replicas: 1, replicasTimeoutMs: 20_000 });
      expect(await increase(another, 8, "B", "s")).toEqual([8]);
      expect(await servers.replica.command("GET", "balance")).toBe("8");
    });

    it("a repeat on a connection that has written nothing waits for the first one's write all the same", async () => {
      const { primary, replica } = await pair();
      const [first, another] = [await guardOn(primary), await guardOn(primary, options)];
      for (const guard of [first, another]) await guard.markOf(LINE); // the first to come writes once
      replica.freeze(); // still a replica to the primary, and without what comes now
      expect(await increase(first, 8, "B", "s")).toEqual([8]);
      await expect(increase(another, 8, "B", "s")).rejects.toThrow(UnknownOutcomeError);
    });

    it("an answer for another connection counts for nothing", async () => {
      const { primary } = await pair();
      const [one, two] = [await nodeRedis("redis", primary.socket), await nodeRedis("redis", primary.socket)];
      onTestFinished(() => one.close());
      onTestFinished(() => two.close());
      const { evalSha, eval: evalText } = one.client as unknown as Record<string, CallableFunction>;
      let sent = 0;
      // As a client is that was connected anew between the write and what comes after it.
      const torn = redisGuard(
        {
          evalSha: evalSha?.bind(one.client),
          eval: evalText?.bind(one.client),
          sendCommand: (words: string[]) => (sent++ % 3 === 0 ? one : two).command(...words),
        } as never,
        { replicas: 1 },
      );
      const unknown = await failure(increase(torn, 8, "B", "s"));
      expect(unknown).toBeInstanceOf(UnknownOutcomeError);
      expect(String(unknown["cause"])).toContain("the connection was lost");
    });

    it("every client has to have one connection", async () => {
      const { primary } = await pair();
      for (const { name, connect } of REDIS_LIBRARIES) {
        const connection = await connect(primary.socket);
        onTestFinished(() => connection.close());
        const guard = () => redisGuard(connection.client, { replicas: 1, replicasTimeoutMs: 20_000 });
        if (name.startsWith("a pool")) expect(guard).toThrow(InvalidArgumentError);
        else expect(await guard().write(lease(1), { step: name }, [["INCR", "count"]])).toHaveLength(1);
      }
    });
  });

  it("says of a replica that it takes no writes", async () => {
    const { replica } = await pair();
    const guard = await guardOn(replica);
    await expect(guard.advance(lease(1))).rejects.toThrow(StoreBusyError);
  });
});
