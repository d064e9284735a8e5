import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type GuardDatabase,
  type SqliteGuard,
  StaleTokenError,
  sqliteGuard,
} from "../../src/destinations/sqlite/index.ts";
import {
  InvalidArgumentError,
  InvalidTransactionError,
  StoreBusyError,
  TransactionBodyError,
  UnknownOutcomeError,
} from "../../src/errors.ts";
import { type Database, openDatabase } from "../../src/stores/sqlite/index.ts";
import { Child } from "../support/child.ts";
import { type GuardWorld, guardCases, insert, lease } from "./guard-cases.ts";

const LINE = lease(1).token.line;

interface World extends GuardWorld {
  readonly guard: SqliteGuard;
  readonly database: Database;
  readonly path: string;
}

async function world(options: { timeoutMs?: number } = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-guard-"));
  const path = join(folder, "data.db");
  const database = await openDatabase(path);
  onTestFinished(() => {
    if ((database as { isOpen?: boolean }).isOpen !== false) database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  database.exec("pragma journal_mode = wal");
  database.exec("create table effect (seq integer primary key, value text not null)");
  const guard = sqliteGuard({ database, ...options });
  const effects = async (): Promise<string[]> =>
    database
      .prepare("select value from effect order by seq")
      .all()
      .map((row) => String(row["value"]));
  return { guard, database, path, effects };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function start(script: string, ...args: (string | number)[]): Child {
  const child = new Child(fileURLToPath(new URL(`./${script}.js`, import.meta.url)), args);
  onTestFinished(() => child.kill());
  return child;
}

describe("the guard on SQLite", () => {
  guardCases(world);

  it("wants an open handle", () => {
    expect(() => sqliteGuard("data.db" as never)).toThrow(InvalidArgumentError);
    expect(() => sqliteGuard({} as never)).toThrow(InvalidArgumentError);
  });

  it("D1 of writers in four processes none loses a raise, and what landed stands in the order of generations", async () => {
    const { guard, database, path, effects } = await world();
    await guard.migrate();
    const children = [1, 2, 3, 4].map((seed) => start("racing-writer", path, seed));
    await Promise.all(children.map((child) => child.tells("ready")));
    for (const child of children) child.process.send("go");
    const landed = (await Promise.all(children.map((child) => child.tells("landed")))) as number[][];
    const written = (await effects()).map(Number);
    expect(written).toEqual([...written].sort((a, b) => a - b));
    expect(new Set(written).size).toBeGreaterThan(4);
    expect(landed.flat().sort((a, b) => a - b)).toEqual(written);
    expect(database.prepare("select generation from leasehold_mark").all()).toEqual([{ generation: 100 }]);
  });

  it("D1 a writer killed inside its body leaves nothing, and one killed after its answer everything", async () => {
    const { guard, path, effects } = await world();
    await guard.migrate();
    await start("dying-writer", "sqlite", path, "", "inside").exited;
    expect(await effects()).toEqual([]);
    expect(await guard.markOf(LINE)).toBeUndefined();
    const child = start("dying-writer", "sqlite", path, "", "after");
    await child.tells("after");
    await child.kill();
    expect(await effects()).toEqual(["by the child"]);
    expect(await guard.write(lease(2, "b"), { step: "s" }, insert("again"))).toEqual({
      written: "by the child",
    });
  });

  it("writes in synchronous bodies by the handle itself, too", async () => {
    const { guard, database, effects } = await world();
    const write = (value: string) =>
      guard.write(lease(1), { step: "s" }, () => {
        database.prepare("insert into effect (value) values (?)").run(value);
        return value;
      });
    expect(await write("first")).toBe("first");
    expect(await write("second")).toBe("first");
    expect(await effects()).toEqual(["first"]);
  });

  it("rolls back a body that awaits anything but tx, and lets nothing of it land later", async () => {
    const { guard, effects } = await world();
    await guard.migrate();
    let ended: unknown;
    const slow = guard.write(lease(1), { step: "s" }, async (tx) => {
      await insert("early")(tx);
      await nextTurn();
      ended = await insert("late")(tx).catch((error: unknown) => error);
      return "done";
    });
    await expect(slow).rejects.toThrow(TransactionBodyError);
    await expect.poll(() => ended).toBeInstanceOf(InvalidTransactionError);
    expect(await effects()).toEqual([]);
    expect(await guard.markOf(LINE)).toBeUndefined();
    await guard.write(lease(1), { step: "s" }, insert("in time"));
    expect(await effects()).toEqual(["in time"]);
  });

  it("keeps writes that begin together apart", async () => {
    const { guard, effects } = await world();
    const writes = [1, 2, 3].map((number) =>
      guard.write(lease(number), {}, async (tx) => {
        await insert(`${number} first`)(tx);
        await insert(`${number} second`)(tx);
      }),
    );
    await Promise.all(writes);
    expect(await effects()).toEqual([1, 2, 3].flatMap((n) => [`${n} first`, `${n} second`]));
  });

  describe("writes that wait together", () => {
    /** A handle on the handle, that tells what was run. */
    function heard(database: Database): { handle: GuardDatabase; said: string[] } {
      const said: string[] = [];
      const handle: GuardDatabase = {
        exec: (text) => database.exec(text),
        prepare(text) {
          const statement = database.prepare(text);
          return {
            run(...parameters) {
              said.push(text);
              return statement.run(...(parameters as never[]));
            },
            get: (...parameters) => statement.get(...(parameters as never[])),
            all: (...parameters) => statement.all(...(parameters as never[])),
          };
        },
        get isTransaction() {
          return database.isTransaction === true;
        },
      };
      return { handle, said };
    }

    it("share one commit", async () => {
      const { guard, database, effects } = await world();
      await guard.migrate();
      const { handle, said } = heard(database);
      const other = sqliteGuard(handle);
      await Promise.all([1, 2, 3].map((n) => other.write(lease(n), { step: `${n}` }, insert(`${n}`))));
      expect(said.filter((text) => text === "commit")).toHaveLength(1);
      expect(await effects()).toEqual(["1", "2", "3"]);
    });

    it("are told and undone apart: one that throws, one that is refused, one that waits too long", async () => {
      const { guard, effects } = await world();
      const outcomes = await Promise.allSettled([
        guard.write(lease(2, "b"), {}, insert("first")),
        guard.write(lease(3, "c"), {}, async (tx) => {
          await insert("undone")(tx);
          throw new Error("its own");
        }),
        guard.write(lease(1), {}, insert("stale")),
        guard.write(lease(4, "d"), {}, async (tx) => {
          await insert("pending")(tx);
          await nextTurn();
        }),
        guard.write(lease(2, "b"), {}, insert("in the next transaction")),
      ]);
      expect(
        outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason : outcome.status)),
      ).toEqual([
        "fulfilled",
        expect.objectContaining({ message: "its own" }),
        expect.any(StaleTokenError),
        expect.any(TransactionBodyError),
        "fulfilled",
      ]);
      expect(await effects()).toEqual(["first", "in the next transaction"]);
      expect(await guard.markOf(LINE)).toEqual({ generation: 2, owner: "b" });
    });

    it.each(["commit", "rollback"])(
      "are not known to be written when one of them says %s; those that had not begun are written after it",
      async (end) => {
        const { guard, database, effects } = await world();
        await guard.migrate();
        const [before, breaker, after] = await Promise.allSettled([
          guard.write(lease(1), { step: "s" }, insert("before")),
          guard.write(lease(1), {}, () => database.exec(end)),
          guard.write(lease(1), {}, insert("after")),
        ]);
        expect(before).toMatchObject({ reason: expect.any(UnknownOutcomeError) });
        expect(breaker).toMatchObject({ reason: expect.any(InvalidTransactionError) });
        expect(after).toMatchObject({ status: "fulfilled" });
        expect(await effects()).toEqual(end === "commit" ? ["before", "after"] : ["after"]);
        // Whichever it was, to repeat it is right.
        await guard.write(lease(1), { step: "s" }, insert("before"));
        expect((await effects()).toSorted()).toEqual(["after", "before"]);
      },
    );

    it("are all refused while another process holds the file", async () => {
      const { guard, path, effects } = await world({ timeoutMs: 50 });
      await guard.migrate();
      const other = await openDatabase(path);
      other.exec("begin immediate");
      const writes = await Promise.allSettled([1, 2].map((n) => guard.write(lease(n), {}, insert(`${n}`))));
      for (const write of writes) expect(write).toMatchObject({ reason: expect.any(StoreBusyError) });
      other.exec("rollback");
      other.close();
      await guard.write(lease(1), {}, insert("then"));
      expect(await effects()).toEqual(["then"]);
    });
  });

  it("admitIn guards what the caller writes in a transaction of its own, on any handle of the file", async () => {
    const { guard, path, effects } = await world();
    const other = await openDatabase(path);
    onTestFinished(() => other.close());
    const write = (number: number): void => {
      other.exec("begin immediate");
      try {
        guard.admitIn(other, lease(number));
        other.prepare("insert into effect (value) values (?)").run(String(number));
        other.exec("commit");
      } catch (error) {
        other.exec("rollback");
        throw error;
      }
    };
    write(2);
    expect(() => write(1)).toThrow(StaleTokenError);
    expect(await effects()).toEqual(["2"]);
    await expect(guard.advance(lease(1))).rejects.toThrow(StaleTokenError);
    expect(() => guard.admitIn(other, lease(3))).toThrow(InvalidTransactionError);
  });

  it("waits for a transaction of the caller's own on the handle", async () => {
    const { guard, database, effects } = await world();
    database.exec("begin");
    database.exec("insert into effect (value) values ('the caller')");
    const write = guard.write(lease(1), {}, insert("the guard"));
    await nextTurn(); // in which the write found the handle in use
    database.exec("commit");
    await write;
    expect(await effects()).toEqual(["the caller", "the guard"]);
  });

  it("gives up on a file that another process holds, having written nothing", async () => {
    const { guard, path, effects } = await world({ timeoutMs: 50 });
    await guard.migrate();
    const other = await openDatabase(path);
    other.exec("begin immediate");
    await expect(guard.write(lease(1), {}, insert("x"))).rejects.toThrow(StoreBusyError);
    other.exec("rollback");
    other.close();
    expect(await effects()).toEqual([]);
  });

  it("refuses a body that ends the transaction itself", async () => {
    const { guard, database } = await world();
    const write = guard.write(lease(1), {}, () => database.exec("commit"));
    await expect(write).rejects.toThrow(InvalidTransactionError);
  });

  it("refuses a body that closes the handle, and whoever comes after it", async () => {
    const { guard, database } = await world();
    database.exec("pragma synchronous = normal");
    const outcomes = await Promise.allSettled([
      guard.write(lease(1), {}, () => database.close()),
      guard.write(lease(1), {}, insert("beside it")),
    ]);
    outcomes.push(...(await Promise.allSettled([guard.write(lease(1), {}, insert("later"))])));
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });

  it("writes durably on a handle that does not, and leaves it as it was", async () => {
    const { guard, database } = await world();
    database.exec("pragma synchronous = normal");
    const synchronous = (): unknown => database.prepare("pragma synchronous").get()?.["synchronous"];
    expect(await guard.write(lease(1), {}, synchronous)).toBe(2);
    expect(synchronous()).toBe(1);
  });
});
