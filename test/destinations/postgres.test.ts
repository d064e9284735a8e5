import { fileURLToPath } from "node:url";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { type PostgresGuard, postgresGuard, StaleTokenError } from "../../src/destinations/postgres/index.ts";
import {
  InvalidArgumentError,
  InvalidTransactionError,
  LeaseNotTrustedError,
  StoreBusyError,
} from "../../src/errors.ts";
import { admit } from "../../src/protocol/destination-rule.ts";
import type { Generation, Owner } from "../../src/protocol/identity.ts";
import { Child } from "../support/child.ts";
import { optional } from "../support/optional.ts";
import { missingPostgres, POSTGRES_VERSIONS, postgresServer } from "../support/postgres-server.ts";
import { seededRandom } from "../support/seed.ts";
import { type GuardWorld, guardCases, insert, LATER_JOB, lease } from "./guard-cases.ts";

const LINE = lease(1).token.line;

function start(...args: (string | number)[]): Child {
  const child = new Child(fileURLToPath(new URL("./dying-writer.js", import.meta.url)), [
    "postgres",
    ...args,
  ]);
  onTestFinished(() => child.kill());
  return child;
}

it("wants a pool or an address, and a plain schema", () => {
  expect(() => postgresGuard({})).toThrow(InvalidArgumentError);
  const connectionString = "postgres://user:secret@host/db";
  expect(() => postgresGuard({ connectionString, schema: 'a"; drop' })).toThrow(InvalidArgumentError);
  expect(() => postgresGuard({ connectionString, timeoutMs: 0 })).toThrow(InvalidArgumentError);
});

for (const version of POSTGRES_VERSIONS) {
  optional(`the guard on PostgreSQL ${version}`, missingPostgres(version), () => {
    let url: string;
    let pool: pg.Pool;
    beforeAll(async () => {
      url = await postgresServer(version, inject("servers"));
      pool = new pg.Pool({ connectionString: url, max: 10, options: `-c search_path=${schema}` });
    });
    afterAll(async () => {
      await pool.query(`drop schema if exists ${schema} cascade`);
      await pool.end();
    });

    interface World extends GuardWorld {
      readonly guard: PostgresGuard;
      readonly schema: string;
    }

    /** Emptied before each test: to make the tables takes many times as long. */
    const schema = `guard_${process.pid}_${version}`;

    async function world({ timeoutMs }: { timeoutMs?: number } = {}): Promise<World> {
      const guard = postgresGuard({ pool, schema, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
      await guard.migrate();
      await pool.query(`create table if not exists ${schema}.effect (seq bigserial, value text not null);
        delete from ${schema}.effect; delete from ${schema}.mark; delete from ${schema}.answer;
        update ${schema}.guard set pruned_below = ''`);
      const effects = async (): Promise<string[]> =>
        (await pool.query(`select value from ${schema}.effect order by seq`)).rows.map(({ value }) => value);
      return { guard, schema, effects };
    }

    guardCases(world);

    it("T3 makes no effect when trust has ended in the wait for a connection", async () => {
      const { schema, effects } = await world();
      const one = new pg.Pool({ connectionString: url, max: 1, options: `-c search_path=${schema}` });
      onTestFinished(() => one.end());
      const guard = postgresGuard({ pool: one, schema });
      await guard.markOf(LINE); // the guard has looked at its tables
      const busy = await one.connect();
      let isTrusted = true;
      const assertTrusted = (): void => {
        if (!isTrusted) throw new LeaseNotTrustedError(lease(1).token, "ended");
      };
      const written = guard.write({ ...lease(1), assertTrusted }, {}, insert("late"));
      isTrusted = false;
      busy.release();
      await expect(written).rejects.toThrow(LeaseNotTrustedError);
      expect(await effects()).toEqual([]);
      expect(await guard.markOf(LINE)).toBeUndefined();
    });

    it("D1 of eight writers at once none loses a raise, and what landed stands in the order of generations", async () => {
      const { schema, effects } = await world();
      const random = seededRandom(`eight writers ${version}`);
      const guards = Array.from({ length: 8 }, () => postgresGuard({ connectionString: url, schema }));
      const write = async (guard: PostgresGuard, number: number): Promise<boolean> =>
        guard
          .write(lease(number, `owner ${number}`), {}, (tx) =>
            tx.query(`insert into ${schema}.effect (value) values ($1)`, [String(number)]),
          )
          .then(
            () => true,
            (error: unknown) => {
              if (error instanceof StaleTokenError) return false;
              throw error;
            },
          );
      const numbers = Array.from({ length: 80 }, () => 1 + Math.floor(random() * 40));
      const landed = await Promise.all(
        guards.map(async (guard, i) => {
          const mine: number[] = [];
          for (const number of numbers.slice(i * 10, i * 10 + 10))
            if (await write(guard, number)) mine.push(number);
          await guard.close();
          return mine;
        }),
      );
      const written = (await effects()).map(Number);
      expect(written).toEqual([...written].sort((a, b) => a - b));
      expect(landed.flat().sort((a, b) => a - b)).toEqual(written);
      const mark = (await pool.query(`select generation::int from ${schema}.mark`)).rows;
      expect(mark).toEqual([{ generation: Math.max(...numbers) }]);
    });

    it("D4 of two that make one effect at once, one makes it and both get its answer", async () => {
      const { guard, effects } = await world();
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) => guard.write(lease(1), { step: "s" }, insert(String(i)))),
      );
      const [only] = await effects();
      expect(await effects()).toHaveLength(1);
      expect(new Set(answers.map(({ written }) => written))).toEqual(new Set([only]));
    });

    it("D4 the same key on two lines is one effect as well", async () => {
      const { guard, effects } = await world();
      const elsewhere = { ...lease(1), token: { ...lease(1).token, line: "lease:other" as typeof LINE } };
      const answers = await Promise.all([
        guard.write(lease(1), { step: "s" }, insert("x")),
        guard.write(elsewhere, { step: "s" }, insert("y")),
      ]);
      expect(await effects()).toHaveLength(1);
      expect(answers[0]).toEqual(answers[1]);
    });

    it("D1 a writer killed inside its body leaves nothing, and one killed after its answer everything", async () => {
      const { guard, schema, effects } = await world();
      for (const where of ["inside", "after"]) {
        const child = start(url, schema, where);
        await child.tells(where);
        await child.kill();
        if (where === "inside") expect(await effects()).toEqual([]);
      }
      expect(await effects()).toEqual(["by the child"]);
      expect(await guard.markOf(LINE)).toEqual({ generation: 1, owner: "a" });
      expect(await guard.write(lease(2, "b"), { step: "s" }, insert("again"))).toEqual({
        written: "by the child",
      });
      expect(await effects()).toEqual(["by the child"]);
    });

    it("D1 a writer frozen inside its body does not keep its successor out", async () => {
      const { guard, schema, effects } = await world();
      const child = start(url, schema, "inside", 1_000);
      await child.tells("inside");
      child.process.kill("SIGSTOP");
      await guard.write(lease(2, "b"), {}, insert("by the successor"));
      await child.kill();
      expect(await effects()).toEqual(["by the successor"]);
    });

    it("gives up on a line that another transaction holds, having written nothing", async () => {
      const { guard, schema, effects } = await world({ timeoutMs: 200 });
      await guard.advance(lease(1));
      const client = await pool.connect();
      await client.query("begin");
      await client.query(`select * from ${schema}.mark for update`);
      await expect(guard.write(lease(2), {}, insert("x"))).rejects.toThrow(StoreBusyError);
      await client.query("rollback");
      client.release();
      expect(await effects()).toEqual([]);
      expect(await guard.markOf(LINE)).toMatchObject({ generation: 1 });
    });

    it("refuses a body that goes on after a failed statement, which the server would roll back in silence", async () => {
      const { guard } = await world();
      const write = guard.write(lease(1), {}, async (tx) => {
        await tx.query("select 1 / 0").catch(() => {});
      });
      await expect(write).rejects.toThrow(InvalidTransactionError);
      expect(await guard.markOf(LINE)).toBeUndefined();
    });

    it("lets a body's tx be used in the body alone", async () => {
      const { guard } = await world();
      const tx = await guard.write(lease(1), {}, (inside) => ({ inside }));
      await expect(tx.inside.query("select 1")).rejects.toThrow(InvalidTransactionError);
    });

    it("raises a mark durably, whatever the session's default is", async () => {
      const { schema } = await world();
      const lax = new pg.Pool({ connectionString: url, max: 1, options: "-c synchronous_commit=off" });
      const guard = postgresGuard({ pool: lax, schema });
      const { rows } = await guard.write(lease(1), {}, (tx) => tx.query("show synchronous_commit"));
      expect(rows).toEqual([{ synchronous_commit: "on" }]);
      await lax.end();
    });

    it("takes as many messages as the same transaction without a guard, with a step as without", async () => {
      const { schema } = await world();
      const own = new pg.Pool({ connectionString: url, max: 1, options: `-c search_path=${schema}` });
      onTestFinished(() => own.end());
      const guard = postgresGuard({ pool: own, schema });
      await guard.markOf(LINE); // the guard has looked at its tables
      const client = await own.connect();
      const query = vi.spyOn(client, "query");
      client.release();
      await guard.write(lease(1), {}, insert("fenced"));
      expect(query).toHaveBeenCalledTimes(["begin", "the body's", "commit"].length);
      await guard.write(lease(1), { step: "s" }, insert("once"));
      expect(query).toHaveBeenCalledTimes(6);
      await guard.write(lease(1), { step: "s" }, insert("twice"));
      expect(query).toHaveBeenCalledTimes(8);
    });

    it.each(["on", "off"])(
      "takes every name and answer for what it is, with standard_conforming_strings %s",
      async (conforming) => {
        const { schema } = await world();
        const options = `-c standard_conforming_strings=${conforming} -c search_path=${schema}`;
        const own = new pg.Pool({ connectionString: url, max: 1, options });
        onTestFinished(() => own.end());
        const guard = postgresGuard({ pool: own, schema });
        const odd = String.raw`'); drop table mark; -- \' $1 $tag$ E'\\ é`;
        const line = `lease:${odd}` as typeof LINE;
        const write = (answer: string) =>
          guard.write(
            { ...lease(1), token: { ...lease(1).token, line } },
            { step: odd, request: odd },
            () => answer,
          );
        expect(await write(odd)).toBe(odd);
        expect(await write("another")).toBe(odd);
        expect(await guard.markOf(line)).toMatchObject({ generation: 1 });
      },
    );

    it("makes its tables once, when ten begin at once", async () => {
      const fresh = `${schema}_fresh`;
      onTestFinished(async () => void (await pool.query(`drop schema ${fresh} cascade`)));
      const guards = Array.from({ length: 10 }, () => postgresGuard({ pool, schema: fresh }));
      await Promise.all(guards.map((guard) => guard.advance(lease(1))));
      expect(await guards[0]?.markOf(LINE)).toMatchObject({ generation: 1 });
    });

    describe("leasehold_admit, in any language's transaction", () => {
      it("says with LH001 that a token is stale, with the mark, and with LH002 that its line was pruned", async () => {
        const { guard, schema } = await world();
        const call = (number: number) =>
          pool.query(`select ${schema}.leasehold_admit($1, $2, $3) as raised`, [LINE, number, "a"]);
        expect((await call(5)).rows).toEqual([{ raised: true }]);
        expect((await call(5)).rows).toEqual([{ raised: false }]);
        const error = await call(4).catch((error) => error);
        expect(error).toMatchObject({ code: "LH001" });
        expect(JSON.parse(error.detail)).toEqual({ line: LINE, generation: 5, owner: "a" });
        while (!(await guard.prune(LATER_JOB)).isDone);
        await expect(call(9)).rejects.toMatchObject({ code: "LH002" });
      });

      it.each(["raised", "pruned"])("refuses under a snapshot from before the mark was %s", async (what) => {
        const { guard, schema } = await world();
        const client = await pool.connect();
        onTestFinished(() => client.release(true));
        await client.query("begin isolation level repeatable read; select 1 from mark");
        await guard.advance(lease(2, "b"));
        if (what === "pruned") while (!(await guard.prune(LATER_JOB)).isDone);
        const late = client.query(`select ${schema}.leasehold_admit($1, 1, 'a')`, [LINE]);
        await expect(late).rejects.toMatchObject({ code: "40001" });
      });

      it("D2 leasehold_admits is the rule, for rows that carry a mark of their own", async () => {
        const { schema } = await world();
        for (const mark of [undefined, { generation: 5, owner: "a" }] as const) {
          for (const generation of [4, 5, 6]) {
            for (const owner of ["a", "b"]) {
              const { rows } = await pool.query(
                `select ${schema}.leasehold_admits($1, $2, $3, $4) as admitted`,
                [mark?.generation ?? null, mark?.owner ?? null, generation, owner],
              );
              const rule = admit(mark as never, {
                generation: generation as Generation,
                owner: owner as Owner,
              });
              expect(rows[0].admitted, JSON.stringify({ mark, generation, owner })).toBe(rule.admitted);
            }
          }
        }
      });
    });

    describe("admitIn", () => {
      it("guards what the caller writes in a transaction of its own", async () => {
        const { guard, schema, effects } = await world();
        const client = await pool.connect();
        const write = async (number: number, value: string): Promise<void> => {
          await client.query("begin");
          try {
            await guard.admitIn(client, lease(number));
            await client.query(`insert into ${schema}.effect (value) values ($1)`, [value]);
            await client.query("commit");
          } catch (error) {
            await client.query("rollback");
            throw error;
          }
        };
        await write(2, "new");
        await expect(write(1, "late")).rejects.toThrow(StaleTokenError);
        expect(await effects()).toEqual(["new"]);
        client.release();
      });

      it("refuses what is no open transaction: the fence would be a check in front of the write", async () => {
        const { guard } = await world();
        await expect(guard.admitIn(pool, lease(1))).rejects.toThrow(InvalidTransactionError);
        await expect(guard.admitIn({}, lease(1))).rejects.toThrow(InvalidTransactionError);
      });
    });
  });
}
