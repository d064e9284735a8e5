import { expect, inject, it, onTestFinished } from "vitest";
import { type PostgresGuard, postgresGuard } from "../../src/destinations/postgres/index.ts";
import { StoreBusyError, UnknownOutcomeError } from "../../src/errors.ts";
import { optional } from "../support/optional.ts";
import { missingPooler, pgbouncer } from "../support/pgbouncer.ts";
import { emptyDatabase, rowsOf } from "../support/postgres-database.ts";
import { type PostgresProxy, postgresProxy } from "../support/postgres-proxy.ts";
import { missingPostgres, postgresServer } from "../support/postgres-server.ts";
import { insert, lease } from "./guard-cases.ts";

const TIMEOUT_MS = 500;

interface World {
  readonly guard: PostgresGuard;
  readonly proxy: PostgresProxy;
  effects(): Promise<unknown[]>;
}

async function world(): Promise<World> {
  const url = await emptyDatabase(18);
  await rowsOf(url, "create table effect (value text not null)");
  const proxy = await postgresProxy(url);
  const guard = postgresGuard({ connectionString: proxy.url, timeoutMs: TIMEOUT_MS });
  await postgresGuardOn(url).migrate();
  onTestFinished(async () => {
    await proxy.close();
    await guard.close();
  });
  return {
    guard,
    proxy,
    effects: async () => (await rowsOf(url, "select value from effect")).map(({ value }) => value),
  };
}

function postgresGuardOn(url: string): PostgresGuard {
  const guard = postgresGuard({ connectionString: url });
  onTestFinished(() => guard.close());
  return guard;
}

optional("the guard on PostgreSQL 18, when the network fails", missingPostgres(18), () => {
  it.each(["reset", "silence"] as const)(
    "C11 a commit without an answer is an unknown outcome, which a repeat makes known (%s)",
    async (by) => {
      const { guard, proxy, effects } = await world();
      const lost = proxy.lose("reply", ({ text }) => text.endsWith("commit"), by);
      const write = (value: string) => guard.write(lease(1), { step: "s" }, insert(value));
      // The guard's first look at its tables commits as well.
      await expect(guard.migrate()).rejects.toThrow(UnknownOutcomeError);
      await lost;
      const again = proxy.lose(
        "reply",
        ({ text, transaction }) =>
          text.endsWith("commit") && transaction.some((one) => one.includes("into effect")),
        by,
      );
      await expect(write("first")).rejects.toThrow(UnknownOutcomeError);
      await again;
      expect(await effects()).toEqual(["first"]);
      expect(await write("second")).toEqual({ written: "first" });
      expect(await effects()).toEqual(["first"]);
    },
  );

  it.each(["reset", "silence"] as const)(
    "a statement without an answer before the commit has certainly written nothing (%s)",
    async (by) => {
      const { guard, proxy, effects } = await world();
      const lost = proxy.lose("reply", ({ text }) => text.includes("into effect"), by);
      await expect(guard.write(lease(1), { step: "s" }, insert("lost"))).rejects.toThrow(StoreBusyError);
      await lost;
      await guard.write(lease(1), { step: "s" }, insert("kept"));
      expect(await effects()).toEqual(["kept"]);
    },
  );
});

optional(
  "the guard on PostgreSQL 18, behind a pooler of transactions",
  missingPostgres(18) ?? missingPooler(18),
  () => {
    it("D1, D2, D4 writes, refuses and answers as without one", async () => {
      const direct = await postgresServer(18, inject("servers"));
      const url = await pgbouncer(18, 1, inject("servers"));
      const schema = `guard_pooled_${process.pid}`;
      const guard = postgresGuard({ connectionString: url, schema });
      onTestFinished(async () => {
        await guard.close();
        await rowsOf(direct, `drop schema ${schema} cascade`);
      });
      const answers = await Promise.all(
        [1, 1, 1].map((number) =>
          guard.write(lease(number), { step: "s" }, async (tx) => (await tx.query("select random()")).rows),
        ),
      );
      expect(new Set(answers.map((rows) => JSON.stringify(rows))).size).toBe(1);
      await guard.advance(lease(2, "b"));
      await expect(guard.advance(lease(1))).rejects.toMatchObject({ code: "LH_STALE_TOKEN" });
      expect(await guard.probe()).toEqual({ isProven: true });
    });
  },
);
