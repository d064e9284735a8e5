import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import { postgresGuard } from "../../src/destinations/postgres/index.ts";
import { sqliteGuard } from "../../src/destinations/sqlite/index.ts";
import { type Database, openDatabase } from "../../src/stores/sqlite/index.ts";
import { destinationConformance } from "../../src/testing/index.ts";
import { REDIS_LIBRARIES } from "../integrations/redis-clients.ts";
import { type GuardUnderTest, guardWorld } from "../support/guard-harness.ts";
import { type Behind, httpGuardWorld } from "../support/http-guard-harness.ts";
import { optional } from "../support/optional.ts";
import {
  missingPostgres,
  POSTGRES_VERSIONS,
  type PostgresVersion,
  postgresServer,
} from "../support/postgres-server.ts";
import { BY_COMMANDS, BY_LUA, redisGuardWorld } from "../support/redis-guard-harness.ts";
import { missingRedis, RedisServer } from "../support/redis-server.ts";

let places = 0;

async function sqliteWorld(): Promise<Behind> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-guard-"));
  const path = join(folder, "data.db");
  const open: Database[] = [];
  const another = async (): Promise<GuardUnderTest> => {
    const database = await openDatabase(path);
    open.push(database);
    const query = async (text: string, params: readonly string[]): Promise<Record<string, unknown>[]> =>
      database.prepare(text.replaceAll("$1", "?")).all(...params) as Record<string, unknown>[];
    return { guard: sqliteGuard(database), query };
  };
  const first = await another();
  open[0]?.exec(
    "pragma journal_mode = wal; create table effect (seq integer primary key, line text, value text)",
  );
  const world = guardWorld({
    first,
    table: "effect",
    another,
    bodiesMayWait: false,
    kill: async () => {}, // no process keeps its state: a new handle is all that a restart leaves
    async close() {
      for (const database of open) database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  });
  return { open: async () => (await another()).guard, table: "effect", bodiesMayWait: false, world };
}

async function postgresWorld(version: PostgresVersion): Promise<Behind> {
  const url = await postgresServer(version, inject("servers"));
  places += 1;
  const schema = `destination_${process.pid}_${version}_${places}`;
  const table = `${schema}.effect`;
  const application_name = schema;
  const aside = new pg.Pool({ connectionString: url, max: 1 });
  const pools: pg.Pool[] = [];
  const query = async (text: string, params: readonly string[]): Promise<Record<string, unknown>[]> =>
    (await aside.query(text, [...params])).rows;
  const another = async (): Promise<GuardUnderTest> => {
    const pool = new pg.Pool({ connectionString: url, max: 4, application_name });
    pool.on("error", () => {}); // killed
    pools.push(pool);
    return { guard: postgresGuard({ pool, schema }), query };
  };
  const first = await another();
  await first.guard.markOf("job:none" as never);
  await aside.query(`create table ${table} (seq bigserial primary key, line text, value text)`);
  const world = guardWorld({
    first,
    table,
    another,
    bodiesMayWait: true,
    kill: async () => {
      await aside.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
        [application_name],
      );
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.end()));
      await aside.query(`drop schema if exists ${schema} cascade`);
      await aside.end();
    },
  });
  return { open: async () => (await another()).guard, table, bodiesMayWait: true, world };
}

const NO_HOLD = {
  test: "D4 a repeat while the effect is under way waits for its answer or is told when to ask",
  because: "a body that waits for anything but its transaction is rolled back, so none can be held",
};

destinationConformance({ describe, it }, "the SQLite guard", {
  level: "fenced + deduplicated",
  gaps: [NO_HOLD],
  open: async () => (await sqliteWorld()).world,
});

destinationConformance({ describe, it }, "an HTTP service over the SQLite guard", {
  level: "fenced + deduplicated",
  gaps: [NO_HOLD],
  open: async () => httpGuardWorld(await sqliteWorld()),
});

for (const version of POSTGRES_VERSIONS) {
  optional(`the guard's conformance on PostgreSQL ${version}`, missingPostgres(version), () => {
    destinationConformance({ describe, it }, `the PostgreSQL guard on ${version}`, {
      level: "fenced + deduplicated",
      gaps: [],
      open: async () => (await postgresWorld(version)).world,
    });
  });
}

optional("an HTTP service's conformance on PostgreSQL 18", missingPostgres(18), () => {
  destinationConformance({ describe, it }, "an HTTP service over the PostgreSQL guard on 18", {
    level: "fenced + deduplicated",
    gaps: [],
    open: async () => httpGuardWorld(await postgresWorld(18)),
  });
});

optional("the guard's conformance on Redis", missingRedis(), () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.close());

  const kinds = [
    { written: "commands", client: "node-redis 6", kind: BY_COMMANDS },
    { written: "Lua", client: "ioredis 6", kind: BY_LUA },
  ];
  for (const { written, client, kind } of kinds) {
    const library = REDIS_LIBRARIES.find(({ name }) => name === client);
    if (library === undefined) throw new Error(`There is no ${client}`);
    destinationConformance({ describe, it }, `the Redis guard with ${written}, by ${client}`, {
      level: "fenced + deduplicated",
      gaps: [
        {
          test: NO_HOLD.test,
          because: "Redis runs a script alone, so nobody asks while an effect is under way",
        },
      ],
      open: () => redisGuardWorld(server, library, kind),
    });
  }
});
