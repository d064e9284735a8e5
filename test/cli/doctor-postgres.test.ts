import pg from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import type { Finding } from "../../src/stores/doctor.ts";
import { postgres } from "../../src/stores/postgres/index.ts";
import { optional } from "../support/optional.ts";
import { missingPooler, pgbouncer } from "../support/pgbouncer.ts";
import { missingOwnPostgres, postgresServer } from "../support/postgres-server.ts";
import { cli, cliJson, folder } from "./support.ts";

interface Report {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

interface World {
  /** As its superuser. */
  readonly server: string;
  readonly schema: string;
  query(text: string): Promise<Record<string, unknown>[]>;
  doctor(address?: string, ...flags: string[]): Promise<Report & { readonly exit: number | null }>;
}

let schemas = 0;

/** A place for a store on a server that waits for its disk, or on the fast one of the other tests. */
async function newWorld(kind: "fast" | "durable" = "durable"): Promise<World> {
  const server = await postgresServer(18, inject("servers"), kind);
  schemas += 1;
  const schema = `doctor_${process.pid}_${schemas}`;
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  onTestFinished(async () => {
    await client.query(`drop schema if exists ${schema} cascade`);
    await client.end();
  });
  return {
    server,
    schema,
    query: async (text) => (await client.query(text)).rows,
    doctor(address = server, ...flags) {
      const url = new URL(address);
      url.searchParams.set("schema", schema);
      return cliJson<Report>(["doctor", "--store", url.href, ...flags], { cwd: folder() });
    },
  };
}

async function migrated({ server, schema }: World): Promise<void> {
  const store = postgres({ connectionString: server, schema });
  await store.open();
  await store.close();
}

/** A user of its own until the end of the test, made by `… with` these words. */
async function userOn({ server, schema, query }: World, ...then: string[]): Promise<string> {
  const role = `user_${schema}`;
  await query(`create role ${role} login`);
  onTestFinished(async () => {
    await query(`drop owned by ${role}`);
    await query(`drop role ${role}`);
  });
  for (const text of then) await query(text.replaceAll("{role}", role).replaceAll("{schema}", schema));
  const url = new URL(server);
  url.username = role;
  return url.href;
}

function found({ findings }: Report, check: string): Finding | undefined {
  return findings.find((finding) => finding.check === check);
}

optional("leasehold doctor on PostgreSQL 18", missingOwnPostgres(18), () => {
  describe("a store on a healthy server", () => {
    it("is found well, a line for each check, and nothing is changed", async () => {
      const world = await newWorld();
      await migrated(world);
      const rows = `select * from ${world.schema}.store`;
      const before = await world.query(rows);
      const report = await world.doctor();
      expect(report.findings.filter(({ level }) => level !== "ok")).toEqual([]);
      expect(report.findings.map(({ check }) => check)).toEqual(
        "server schema rights durability clock history standbys pooler listener".split(" "),
      );
      expect(report).toMatchObject({ exit: 0, ok: true });
      expect(found(report, "clock")?.found).toMatch(/Store time is \d+ ms (ahead of|behind) .*± \d+ ms/);
      expect(found(report, "pooler")?.found).toMatch(/None/);
      expect(found(report, "listener")?.found).toMatch(/arrived after \d+ ms/);
      expect(await world.query(rows)).toEqual(before);
    });

    it("that is not there is told apart, and not made", async () => {
      const world = await newWorld();
      const report = await world.doctor();
      expect(report).toMatchObject({ exit: 4, ok: false });
      expect(found(report, "schema")).toMatchObject({
        level: "problem",
        next: expect.stringMatching(/migrate/),
      });
      expect(await world.query(`select from pg_namespace where nspname = '${world.schema}'`)).toEqual([]);
    });

    it("whose user has synchronous_commit off gets a warning, and exit code 0", async () => {
      const world = await newWorld();
      const address = await userOn(
        world,
        "alter role {role} set synchronous_commit = off",
        "create schema {schema} authorization {role}",
      );
      await migrated({ ...world, server: address });
      const report = await world.doctor(address);
      expect(report).toMatchObject({ exit: 0, ok: true });
      expect(report.findings.filter(({ level }) => level !== "ok")).toEqual([
        {
          check: "durability",
          level: "warning",
          found: expect.stringMatching(/synchronous_commit is off.*may lose jobs/),
          next: expect.stringMatching(/Set synchronous_commit = on/),
        },
      ]);
    });

    it("whose user may not write it is unusable; one who owns nothing but may write is warned", async () => {
      const world = await newWorld();
      await migrated(world);
      const address = await userOn(
        world,
        "grant usage on schema {schema} to {role}",
        "grant select on all tables in schema {schema} to {role}",
      );
      const reader = await world.doctor(address);
      expect(reader).toMatchObject({ exit: 4, ok: false });
      expect(found(reader, "rights")).toMatchObject({
        level: "problem",
        found: expect.stringMatching(/lacks rights on \w+ \(delete\), \w+ \(insert\).* more/),
        next: expect.stringMatching(/grant it/),
      });
      const role = new URL(address).username;
      await world.query(`grant insert, update, delete on all tables in schema ${world.schema} to ${role}`);
      const writer = await world.doctor(address);
      expect(writer).toMatchObject({ exit: 0, ok: true });
      expect(found(writer, "rights")).toMatchObject({
        level: "warning",
        found: expect.stringMatching(/does not own it/),
      });
    });

    it("with another identity than the leases' is told as another server", async () => {
      const world = await newWorld();
      await migrated(world);
      await world.query(`update ${world.schema}.store set system_id = system_id + 1`);
      const report = await world.doctor();
      expect(report).toMatchObject({ exit: 0, ok: true });
      expect(found(report, "history")).toMatchObject({
        level: "warning",
        found: expect.stringMatching(/another server/),
      });
      const [row] = await world.query("select system_identifier::text as id from pg_control_system()");
      expect(found(report, "history")?.found).toContain(`system ${row?.["id"]},`); // 19 digits are none too many
    });

    it("with an asynchronous standby may lose acknowledged writes with it", async () => {
      const world = await newWorld();
      await migrated(world);
      const receiver = new pg.Client({
        connectionString: world.server,
        application_name: "elsewhere",
        replication: "true",
      } as pg.ClientConfig);
      await receiver.connect();
      onTestFinished(() => receiver.end());
      expect(found(await world.doctor(), "standbys")).toMatchObject({
        level: "warning",
        found: expect.stringMatching(/elsewhere is async.*last acknowledged writes may be missing/),
      });
    });
  });

  describe("a server", () => {
    it("that may lose everything in a crash is a problem, exit code 1", async () => {
      const world = await newWorld("fast");
      await migrated(world);
      const report = await world.doctor();
      expect(report).toMatchObject({ exit: 1, ok: false });
      expect(report.findings.filter(({ level }) => level !== "ok")).toEqual([
        expect.objectContaining({ check: "durability", level: "problem", next: "Set fsync = on." }),
      ]);
    });

    it("out of reach is exit code 4, with the driver's reason and what to do, on stdout", async () => {
      const { code, stdout } = await cli(["doctor", "--store", "postgres://user:secret@127.0.0.1:1/x"], {
        cwd: folder(),
      });
      expect(code).toBe(4);
      expect(stdout).toMatch(/^problem +server +It cannot be reached: .*ECONNREFUSED.*\n +Check host/m);
      expect(stdout).not.toContain("secret");
    });
  });
});

optional("leasehold doctor behind PgBouncer", missingPooler(18), () => {
  describe("a store behind a pooler in transaction mode", () => {
    it("is told so, and that it needs another address to listen at, which can be tried out", async () => {
      const world = await newWorld("fast");
      await migrated(world);
      const pooler = await pgbouncer(18, 2, inject("servers"));
      const report = await world.doctor(pooler);
      expect(found(report, "pooler")).toMatchObject({
        level: "ok",
        found: expect.stringMatching(/for a transaction at a time/),
      });
      expect(found(report, "listener")).toMatchObject({
        level: "warning",
        next: expect.stringMatching(/Give `listen` the server's own address/),
      });
      const direct = await world.doctor(pooler, "--listen", world.server);
      expect(found(direct, "listener")).toMatchObject({ level: "ok" });
      const useless = await world.doctor(pooler, "--listen", pooler);
      expect(found(useless, "listener")).toMatchObject({ level: "warning" });
    });
  });
});
