/** Steps in a transaction of the caller's own (D4): the guard takes part in it, and neither begins nor ends it. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import type { AdmittedStep, EffectLease, StepOptions } from "../../src/destinations/destination.ts";
import { postgresGuard } from "../../src/destinations/postgres/index.ts";
import { EffectMismatchError, StaleTokenError } from "../../src/destinations/refusals.ts";
import { sqliteGuard } from "../../src/destinations/sqlite/index.ts";
import { InvalidArgumentError, InvalidTransactionError, UnstorableValueError } from "../../src/errors.ts";
import { openDatabase } from "../../src/stores/sqlite/index.ts";
import { optional } from "../support/optional.ts";
import { missingPostgres, POSTGRES_VERSIONS, postgresServer } from "../support/postgres-server.ts";
import { lease } from "./guard-cases.ts";

type Step = AdmittedStep<unknown, unknown>;

interface Caller {
  admit(lease: EffectLease, effect: StepOptions): Promise<Step>;
  write(value: string): Promise<void>;
}

interface World {
  /** Commits what `work` did, or rolls it back. */
  transaction<Result>(work: (caller: Caller) => Promise<Result>): Promise<Result>;
  /** What has landed. */
  effects(): Promise<string[]>;
  /** The guard's own write of the same step. */
  write(lease: EffectLease, effect: StepOptions): Promise<unknown>;
}

async function inSqlite(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-admit-in-"));
  const database = await openDatabase(join(folder, "data.db"));
  onTestFinished(() => {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  database.exec("create table effect (seq integer primary key, value text not null)");
  const guard = sqliteGuard(database);
  return {
    async transaction(work) {
      database.exec("begin immediate");
      try {
        const result = await work({
          admit: async (lease, effect) => guard.admitIn(database, lease, effect),
          write: async (value) => void database.prepare("insert into effect (value) values (?)").run(value),
        });
        database.exec("commit");
        return result;
      } catch (error) {
        database.exec("rollback");
        throw error;
      }
    },
    effects: async () =>
      database
        .prepare("select value from effect order by seq")
        .all()
        .map(({ value }) => String(value)),
    write: (lease, effect) => guard.write(lease, effect, () => "made by the guard"),
  };
}

let schemas = 0;

function inPostgres(version: (typeof POSTGRES_VERSIONS)[number]): () => Promise<World> {
  return async () => {
    schemas += 1;
    const schema = `admit_in_${process.pid}_${version}_${schemas}`;
    const pool = new pg.Pool({ connectionString: await postgresServer(version, inject("servers")), max: 4 });
    onTestFinished(async () => {
      await pool.query(`drop schema ${schema} cascade`);
      await pool.end();
    });
    const guard = postgresGuard({ pool, schema });
    await guard.migrate();
    await pool.query(`create table ${schema}.effect (seq bigserial, value text not null)`);
    return {
      async transaction(work) {
        const client = await pool.connect();
        try {
          await client.query("begin");
          const result = await work({
            admit: (lease, effect) => guard.admitIn(client, lease, effect),
            write: async (value) =>
              void (await client.query(`insert into ${schema}.effect (value) values ($1)`, [value])),
          });
          await client.query("commit");
          return result;
        } catch (error) {
          await client.query("rollback");
          throw error;
        } finally {
          client.release();
        }
      },
      effects: async () =>
        (await pool.query(`select value from ${schema}.effect order by seq`)).rows.map(({ value }) => value),
      write: (lease, effect) => guard.write(lease, effect, () => "made by the guard"),
    };
  };
}

/** As a caller does it: the effect only where it is fresh. */
function charge({ transaction }: World, by: EffectLease, effect: StepOptions, value: string) {
  return transaction(async ({ admit, write }) => {
    const step = await admit(by, effect);
    if (!step.isFresh) return step.answer;
    await write(value);
    return step.keep({ charged: value });
  });
}

const STEP = { step: "charge" };

function cases(open: () => Promise<World>): void {
  it("D4 makes the effect once, and gives its first answer to every later owner", async () => {
    const world = await open();
    expect(await charge(world, lease(1), STEP, "first")).toEqual({ charged: "first" });
    expect(await charge(world, lease(2, "b"), STEP, "second")).toEqual({ charged: "first" });
    expect(await world.effects()).toEqual(["first"]);
  });

  it("D4 is one record with the guard's own writes, in both directions", async () => {
    const world = await open();
    await charge(world, lease(1), STEP, "first");
    expect(await world.write(lease(1), STEP)).toEqual({ charged: "first" });
    expect(await world.write(lease(1), { step: "mail" })).toBe("made by the guard");
    expect(await charge(world, lease(1), { step: "mail" }, "second")).toBe("made by the guard");
    expect(await world.effects()).toEqual(["first"]);
  });

  it("D4 asks the fence first: a lower token is refused though its answer is stored", async () => {
    const world = await open();
    await charge(world, lease(2, "b"), STEP, "first");
    await expect(charge(world, lease(1), STEP, "late")).rejects.toThrow(StaleTokenError);
    expect(await world.effects()).toEqual(["first"]);
  });

  it("D4 is refused with another request than the first", async () => {
    const world = await open();
    await charge(world, lease(1), { ...STEP, request: { cents: 5 } }, "first");
    const other = charge(world, lease(1), { ...STEP, request: { cents: 6 } }, "second");
    await expect(other).rejects.toThrow(EffectMismatchError);
    expect(await world.effects()).toEqual(["first"]);
  });

  it("D4 leaves no record when the caller rolls back", async () => {
    const world = await open();
    const failing = world.transaction(async ({ admit, write }) => {
      const step = await admit(lease(1), STEP);
      await write("undone");
      if (step.isFresh) await step.keep("undone");
      throw new Error("the caller's own");
    });
    await expect(failing).rejects.toThrow("the caller's own");
    expect(await charge(world, lease(1), STEP, "done")).toEqual({ charged: "done" });
    expect(await world.effects()).toEqual(["done"]);
  });

  it("D4 holds for a caller who keeps no answer: repeats get null, and make nothing", async () => {
    const world = await open();
    await world.transaction(async ({ admit, write }) => {
      expect(await admit(lease(1), STEP)).toMatchObject({ isFresh: true });
      await write("first");
    });
    expect(await charge(world, lease(2, "b"), STEP, "second")).toBeNull();
    expect(await world.effects()).toEqual(["first"]);
  });

  it("does not change an answer once the transaction is over, which somebody may have been given", async () => {
    const world = await open();
    const step = await world.transaction(({ admit }) => admit(lease(1), STEP));
    if (!step.isFresh) throw new Error("it is fresh");
    await expect((async () => step.keep("too late"))()).rejects.toThrow(InvalidTransactionError);
    expect(await charge(world, lease(1), STEP, "second")).toBeNull();
  });

  it("takes only answers that survive, and only steps that can be keys", async () => {
    const world = await open();
    const unstorable = world.transaction(async ({ admit }) => {
      const step = await admit(lease(1), STEP);
      if (step.isFresh) await step.keep(new Date(0));
    });
    await expect(unstorable).rejects.toThrow(UnstorableValueError);
    for (const step of ["", undefined]) {
      const effect = { step } as StepOptions;
      await expect(charge(world, lease(1), effect, "x")).rejects.toThrow(InvalidArgumentError);
    }
    const named = { ...lease(1), effectScope: null };
    await expect(charge(world, named, STEP, "x")).rejects.toThrow(InvalidArgumentError);
    expect(await world.effects()).toEqual([]);
  });
}

describe("admitIn with a step in SQLite", () => cases(inSqlite));

for (const version of POSTGRES_VERSIONS) {
  optional(`admitIn with a step on PostgreSQL ${version}`, missingPostgres(version), () => {
    cases(inPostgres(version));

    it("D4 of two lines that make the effect of one key at once one makes it, and both have its answer", async () => {
      const world = await inPostgres(version)();
      const elsewhere = { ...lease(1), token: { ...lease(1).token, line: "lease:other" as never } };
      const answers = await Promise.all([
        charge(world, lease(1), STEP, "x"),
        charge(world, elsewhere, STEP, "y"),
      ]);
      expect(await world.effects()).toHaveLength(1);
      expect(answers[0]).toEqual(answers[1]);
    });
  });
}
