import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError, SchemaVersionError, StoreUnusableError } from "../../../src/errors.ts";
import { type Database, isWalSafe, loadDriver } from "../../../src/stores/sqlite/driver.ts";
import { sqlite } from "../../../src/stores/sqlite/index.ts";
import { NEWEST } from "../../../src/stores/sqlite/migrate.ts";
import { CALL, newJob, storeOn, temporaryFolder } from "./world.ts";

describe("the SQLite version", () => {
  it.each([
    ["3.45.1", false],
    ["3.44.6", true],
    ["3.50.6", false],
    ["3.50.7", true],
    ["3.51.2", false],
    ["3.51.3", true],
    ["3.53.0", true],
    ["4.0.0", true],
  ])("%s is safe for several processes: %s", (version, safe) => {
    expect(isWalSafe(version)).toBe(safe);
  });

  it("is safe in the driver that this Node gets", async () => {
    expect(isWalSafe((await loadDriver()).sqliteVersion)).toBe(true);
  });

  it("is asked of a handle that the caller brings", async () => {
    const database = await open(join(temporaryFolder(), "jobs.db"));
    const old: Database = {
      exec: (sql) => database.exec(sql),
      close: () => database.close(),
      prepare: (sql) =>
        database.prepare(sql.includes("sqlite_version()") ? "select '3.45.1' as version" : sql),
    };
    await expect(sqlite({ database: old }).open()).rejects.toThrow(/3\.45\.1.*lose committed writes/);
    database.close();
  });
});

describe("opening", () => {
  it("refuses what is neither a path nor a handle, and says what to give", () => {
    expect(() => sqlite({})).toThrow(InvalidArgumentError);
    expect(() => sqlite("")).toThrow(/Give the path/);
  });

  it("says which folder is missing or closed", async () => {
    const store = sqlite(join(temporaryFolder(), "missing", "jobs.db"));
    await expect(store.open()).rejects.toThrow(/missing.*cannot be opened.*folder exists/);
  });

  it("says that a file is not a database, and leaves it alone", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    writeFileSync(path, "not a database, but long enough to be looked at as one".repeat(20));
    await expect(sqlite(path).open()).rejects.toThrow(/not a SQLite database.*left as it is/);
  });

  it("tells a user without rights what is wrong", async () => {
    const folder = temporaryFolder();
    // Made by another process: as long as this one lives, its own handles would lend their rights to new ones.
    const child = fileURLToPath(new URL("../../support/sqlite-child.js", import.meta.url));
    expect(spawnSync(process.execPath, [child, "enqueue", join(folder, "jobs.db"), "0"]).status).toBe(0);
    await asSomebodyWithoutRights(folder, async () => {
      const error = await sqlite(join(folder, "jobs.db"))
        .open()
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StoreUnusableError);
      expect(String(error)).toMatch(/cannot be (written|opened).*(write access|write there)/s);
    });
  });

  it("refuses a schema that is too new, says what to do, and changes nothing", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const first = storeOn(path);
    await first.open();
    const database = await open(path);
    database.exec("update leasehold_store set schema_version = 999, works_with = 999");
    const error = await sqlite(path)
      .open()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SchemaVersionError);
    expect(String(error)).toMatch(/schema 999.*Install the version that migrated it/s);
    expect(database.prepare("select schema_version as v from leasehold_store").get()?.["v"]).toBe(999);
    database.close();
  });

  it("puts a file of another journal mode into WAL mode, with what it held", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const before = await open(path);
    before.exec("pragma journal_mode = delete");
    before.exec("create table theirs (n integer)");
    before.exec("insert into theirs values (1)");
    before.close();
    await storeOn(path).open();
    const after = await open(path);
    expect(after.prepare("pragma journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(after.prepare("select n from theirs").get()).toEqual({ n: 1 });
    after.close();
  });

  it("refuses a file that cannot be put into WAL mode, as on a disk that is not this machine's", async () => {
    const database = await open(join(temporaryFolder(), "jobs.db"));
    // SQLite keeps its journal mode where the memory that processes share is not to be had.
    const elsewhere: Database = {
      exec: (sql) => database.exec(sql),
      close: () => database.close(),
      prepare: (sql) =>
        database.prepare(sql.includes("journal_mode = wal") ? "select 'delete' as journal_mode" : sql),
    };
    await expect(sqlite({ database: elsewhere }).open()).rejects.toThrow(/delete mode.*local disk/s);
    database.close();
  });

  it.each(["left beside it", "lost"])(
    "finds all that a killed process had written, its -shm file %s",
    async (shm) => {
      const path = join(temporaryFolder(), "jobs.db");
      const child = fileURLToPath(new URL("../../support/sqlite-child.js", import.meta.url));
      expect(spawnSync(process.execPath, [child, "die", path, "50"]).signal).toBe("SIGKILL");
      expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
      if (shm === "lost") rmSync(`${path}-shm`);
      const store = storeOn(path);
      await store.enqueue([newJob()], CALL);
      const after = await open(path);
      expect(after.prepare("select count(*) as n from written").get()).toEqual({ n: 50 });
      after.close();
    },
  );

  it("migrates nothing when asked not to", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const store = storeOn(path, { migrate: false });
    await expect(store.open()).rejects.toThrow(/leasehold migrate/);
    expect((await store.pendingMigrations()).at(-1)?.version).toBe(NEWEST);
  });

  it("works in memory, for one process", async () => {
    const store = storeOn(":memory:");
    expect(await store.enqueue([newJob()], CALL)).toMatchObject([{ outcome: "enqueued" }]);
    expect(store.renewalThread).toBeUndefined();
  });

  it("works on the caller's own handle, and leaves it open", async () => {
    const database = await open(join(temporaryFolder(), "jobs.db"));
    const store = sqlite({ database });
    await store.enqueue([newJob()], CALL);
    await store.close();
    expect(database.prepare("select count(*) as n from leasehold_job").get()?.["n"]).toBe(1);
    database.close();
  });
});

async function open(path: string): Promise<Database> {
  const { Database } = await loadDriver();
  return new Database(path);
}

/** As root, rights mean nothing: the test then acts as somebody else for a while. */
async function asSomebodyWithoutRights(folder: string, act: () => Promise<void>): Promise<void> {
  const root = process.geteuid?.() === 0;
  mkdirSync(join(folder, "other"));
  chmodSync(folder, 0o555);
  if (root) process.seteuid?.(65_534);
  try {
    await act();
  } finally {
    if (root) process.seteuid?.(0);
    chmodSync(folder, 0o755);
  }
}
