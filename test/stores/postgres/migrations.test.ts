import pg from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { Leasehold } from "../../../src/client/leasehold.ts";
import { systemWorld } from "../../../src/clock/system.ts";
import { SchemaVersionError } from "../../../src/errors.ts";
import { PoolEnd } from "../../../src/node-postgres/ending.ts";
import { Connections } from "../../../src/stores/postgres/connections.ts";
import { postgres } from "../../../src/stores/postgres/index.ts";
import { Migrator } from "../../../src/stores/postgres/migrate.ts";
import {
  loadMigrations,
  loadStatements,
  type Migration,
  migrationOf,
} from "../../../src/stores/postgres/sql.ts";
import { Texts } from "../../../src/stores/postgres/statements.ts";
import type { Store } from "../../../src/stores/store.ts";
import { optional } from "../../support/optional.ts";
import { missingPostgres, POSTGRES_VERSIONS, postgresServer } from "../../support/postgres-server.ts";
import { CALL, claimAll, ids, newJob, timers } from "./world.ts";

const NEWEST = loadMigrations("any").at(-1)?.version ?? 0;

/** More of both when `LEASEHOLD_SIDE_BY_SIDE` asks for it: some 60,000 jobs are a minute. */
const SIDE_BY_SIDE = Number(process.env["LEASEHOLD_SIDE_BY_SIDE"] ?? 500);
const MIGRATIONS = Math.min(50, 5 + Math.floor(SIDE_BY_SIDE / 1_000));

interface World {
  readonly schema: string;
  readonly query: (text: string) => Promise<Record<string, unknown>[]>;
  /** A store of this version's. */
  open(): Store;
  /** Another session's transaction. */
  begin(): Promise<pg.Client>;
  /** Does what opening does in a later version, which has these migrations as well. */
  migrate(...later: Migration[]): Promise<unknown>;
  pending(...later: Migration[]): Promise<readonly Migration[]>;
  later(steps: number, worksWith: number, sql: string): Migration;
}

let schemas = 0;

async function newWorld(version: (typeof POSTGRES_VERSIONS)[number]): Promise<World> {
  const url = await postgresServer(version, inject("servers"));
  schemas += 1;
  const schema = `migrated_${process.pid}_${schemas}`;
  const pool = new pg.Pool({ connectionString: url });
  onTestFinished(async () => {
    await pool.query(`drop schema if exists ${schema} cascade`);
    await pool.end();
  });
  const migrator = (later: readonly Migration[]): Migrator => {
    const world = systemWorld();
    const texts = new Texts(loadStatements(schema), undefined);
    const connections = new Connections(
      { pool, mayLinger: 0, end: new PoolEnd(world.timers) },
      texts,
      world,
      schema,
    );
    return new Migrator(connections, schema, schema, world, [...loadMigrations(schema), ...later]);
  };
  return {
    schema,
    query: async (text) => (await pool.query(text)).rows,
    open() {
      const store = postgres({ connectionString: url, schema });
      onTestFinished(() => store.close());
      return store;
    },
    async begin() {
      const client = new pg.Client({ connectionString: url });
      onTestFinished(() => client.end());
      await client.connect();
      await client.query("begin");
      return client;
    },
    migrate: (...later) => migrator(later).bringUpToDate(true),
    pending: (...later) => migrator(later).pending(),
    later: (steps, worksWith, sql) =>
      migrationOf(NEWEST + steps, `-- works with: ${worksWith}\n${sql}`, schema),
  };
}

const job = defineJob({ name: "job", queue: "queue", run: () => "done" });

/** A worker at work, and the errors that it has met. */
function worker(store: Store): { leasehold: Leasehold; errors: unknown[]; stop(): Promise<void> } {
  const leasehold = new Leasehold({ store, log: () => {} });
  onTestFinished(() => leasehold.close());
  const errors: unknown[] = [];
  const working = leasehold.work([job], { pollMs: 10, renewer: "inline" });
  working.on("error", ({ error }) => errors.push(error));
  return { leasehold, errors, stop: () => working.stop() };
}

/** Enqueues so many jobs and waits for their results. */
async function drain(leasehold: Leasehold, jobs: number): Promise<void> {
  const enqueued = await leasehold.enqueueMany(Array.from({ length: jobs }, () => ({ job, input: null })));
  expect(new Set(await Promise.all(enqueued.map((one) => leasehold.result(one))))).toEqual(new Set(["done"]));
}

function warnings(): string[] {
  const heard: string[] = [];
  const hear = (warning: Error & { code?: string }): void => {
    if (warning.code === "LEASEHOLD_NEWER_SCHEMA") heard.push(warning.message);
  };
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  return heard;
}

for (const version of POSTGRES_VERSIONS) {
  optional(`migrations on PostgreSQL ${version}`, missingPostgres(version), () => {
    describe("a migration of tables in use", () => {
      it("lets workers go on while it waits for somebody's long transaction, and comes after its end", async () => {
        const world = await newWorld(version);
        const { leasehold, errors } = worker(world.open());
        await drain(leasehold, 1);
        const long = await world.begin();
        await long.query(`select count(*) from ${world.schema}.job`);
        let isMigrated = false;
        const adding = world.later(1, NEWEST, "alter table {schema}.job add column remark text;");
        const migrating = world.migrate(adding).finally(() => {
          isMigrated = true;
        });
        await sees(world, "select from pg_locks where not granted and mode = 'AccessExclusiveLock'");
        await drain(leasehold, 20);
        expect(isMigrated).toBe(false);
        await long.query("commit");
        await migrating;
        await drain(leasehold, 5);
        expect(errors).toEqual([]);
        expect(await world.query(`select schema_version, works_with from ${world.schema}.store`)).toEqual([
          { schema_version: NEWEST + 1, works_with: NEWEST },
        ]);
      });
    });

    describe("migrations one after the other, and versions side by side", () => {
      it("cost workers of both versions under load no error and no job: nobody meets a deadlock", async () => {
        const world = await newWorld(version);
        await world.open().open();
        const old = [worker(world.open()), worker(world.open())];
        const later: Migration[] = [];
        let isOver = false;
        const load = old.map(async ({ leasehold }) => {
          for (let jobs = 0; ; jobs += 25) {
            await drain(leasehold, 25);
            if (isOver) return jobs + 25;
          }
        });
        for (let step = 1; step <= MIGRATIONS; step += 1) {
          later.push(world.later(step, NEWEST, `alter table {schema}.job add column remark_${step} text;`));
          await world.migrate(...later);
        }
        // Opened on the later schema, beside those from before.
        const anew = worker(world.open());
        const many = await Promise.all([drain(anew.leasehold, SIDE_BY_SIDE), drain(anew.leasehold, 100)]);
        isOver = true;
        const drained = await Promise.all(load);
        for (const { errors } of [...old, anew]) expect(errors).toEqual([]);
        expect(many).toHaveLength(2);
        const [left] = await world.query(`select count(*)::integer as n from ${world.schema}.job`);
        expect(left).toEqual({ n: 0 });
        if (process.env["LEASEHOLD_SHOW"] === "1")
          process.stdout.write(
            `${MIGRATIONS} migrations under ${drained.reduce((sum, each) => sum + each, 0)} jobs\n`,
          );
      }, 170_000);
    });

    describe("what is pending", () => {
      it("is what the store has yet to get, complete: run by hand it leads there", async () => {
        const world = await newWorld(version);
        await world.migrate();
        const later = [
          world.later(1, NEWEST, "alter table {schema}.job add column remark text;"),
          world.later(2, NEWEST + 1, ""),
        ];
        const pending = await world.pending(...later);
        expect(pending.map((migration) => migration.version)).toEqual([NEWEST + 1, NEWEST + 2]);
        for (const { sql } of pending) await world.query(sql);
        expect(await world.pending(...later)).toEqual([]);
        const views = await world.query(
          `select viewname from pg_views where schemaname = '${world.schema}' and viewname like 'moment%' order by 1`,
        );
        expect(views.map(({ viewname }) => viewname)).toEqual([
          "moment",
          `moment_${NEWEST + 1}`,
          `moment_${NEWEST + 2}`,
        ]);
      });
    });

    describe("code of an earlier schema", () => {
      it("opens a later one that works with it, warns once, and has nothing to migrate", async () => {
        const world = await newWorld(version);
        const heard = warnings();
        await world.open().open(); // its own schema is nothing to warn of
        await world.migrate(world.later(1, NEWEST, ""));
        const store = world.open();
        await store.enqueue([newJob()], CALL);
        expect(await claimAll(store, ids.owner())).toHaveLength(1);
        expect(await store.pendingMigrations()).toEqual([]);
        await sees({ query: async () => heard });
        expect(heard).toEqual([
          expect.stringContaining(
            `schema to ${NEWEST + 1}; this one knows ${NEWEST}, and can still work with it`,
          ),
        ]);
      });

      it("is refused by a later one that does not work with it, also after one that would", async () => {
        const world = await newWorld(version);
        await world.migrate(world.later(1, NEWEST + 1, ""), world.later(2, NEWEST, ""));
        const refused = await world
          .open()
          .open()
          .catch((error: unknown) => error);
        expect(refused).toBeInstanceOf(SchemaVersionError);
        expect(refused).toMatchObject({ found: NEWEST + 2, known: NEWEST });
      });

      it("that runs when it is shut out can write nothing any more, and says why", async () => {
        const world = await newWorld(version);
        const store = world.open();
        await store.enqueue([newJob(), newJob()], CALL);
        const [fence] = await claimAll(store, ids.owner(), 1);
        if (fence === undefined) throw new Error("a job was enqueued");
        const caller = await world.begin();
        const rows = `select * from ${world.schema}.record order by seq`;
        const before = await world.query(rows);
        await world.migrate(world.later(1, NEWEST + 1, ""));
        for (const call of [
          () => claimAll(store, ids.owner()),
          () => store.renew([fence], CALL),
          () => store.settle([{ operation: "complete", fence, result: null }], CALL),
          () => store.settle([{ operation: "release", fence, delayMs: 0 }], CALL),
          () => store.completeWith(fence, async () => null, CALL),
          () => store.enqueue([newJob()], CALL),
          () => store.enqueue([newJob()], { ...CALL, tx: caller }),
          () => store.cancel([fence.jobId], CALL),
          () => store.revoke([fence.jobId], CALL),
          () => store.raiseFloor(CALL),
        ]) {
          await expect(call(), String(call)).rejects.toThrow(SchemaVersionError);
        }
        expect(await world.query(rows)).toEqual(before);
      });

      it("stops claiming when it is shut out: its worker tells the typed error, and a drain ends with it", async () => {
        const world = await newWorld(version);
        const { leasehold, errors } = worker(world.open());
        await drain(leasehold, 1);
        await world.migrate(world.later(1, NEWEST + 1, ""));
        await sees({ query: async () => errors });
        expect(errors[0]).toBeInstanceOf(SchemaVersionError);
        await expect(leasehold.drain([job], { renewer: "inline" })).rejects.toThrow(SchemaVersionError);
      });
    });
  });
}

/** Waits until there are rows. */
async function sees(world: { query(text: string): Promise<unknown[]> }, text = ""): Promise<void> {
  while ((await world.query(text)).length === 0) await timers.sleep(5);
}
