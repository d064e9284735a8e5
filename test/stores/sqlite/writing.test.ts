import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { Leasehold } from "../../../src/client/leasehold.ts";
import { manualWorld } from "../../../src/clock/manual.ts";
import {
  AlreadySettledError,
  InvalidTransactionError,
  StaleLeaseError,
  StoreBusyError,
  StoreUnusableError,
  TransactionBodyError,
} from "../../../src/errors.ts";
import { type Database, loadDriver } from "../../../src/stores/sqlite/driver.ts";
import { openDatabase, sqlite } from "../../../src/stores/sqlite/index.ts";
import type { Tx } from "../../../src/stores/store.ts";
import { eventually } from "../../support/eventually.ts";
import { Forbidden, optional } from "../../support/optional.ts";
import { CALL, claimAll, fenceOf, newJob, storeOn, temporaryFolder, world } from "./world.ts";

async function handleOn(path: string): Promise<Database> {
  const { Database } = await loadDriver();
  const database = new Database(path);
  onTestFinished(() => database.close());
  return database;
}

async function insertEffect(tx: Tx, n: number): Promise<null> {
  await tx.query("insert into effect values ($1)", [n]);
  return null;
}

describe("the write lock", () => {
  it("is waited for until the call's deadline, and then certainly nothing was written", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const store = storeOn(path);
    await store.open();
    const other = await handleOn(path);
    other.exec("begin immediate");
    await expect(store.enqueue([newJob()], { timeoutMs: 20 })).rejects.toThrow(StoreBusyError);
    const waiting = store.enqueue([newJob()], CALL);
    other.exec("rollback");
    expect(await waiting).toMatchObject([{ outcome: "enqueued" }]);
    expect(other.prepare("select count(*) as n from leasehold_job").get()?.["n"]).toBe(1);
  });

  it("is not taken by an idle worker that looks for jobs", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const store = storeOn(path);
    await store.open();
    const other = await handleOn(path);
    other.exec("begin immediate");
    expect(await claimAll(store, world.ids.owner())).toEqual([]);
    other.exec("rollback");
  });
});

describe("a full disk", () => {
  it("is told as such, and loses nothing that was acknowledged", async () => {
    const database = await handleOn(join(temporaryFolder(), "jobs.db"));
    const store = sqlite({ database });
    const pages = Number(database.prepare("pragma page_count").get()?.["page_count"]);
    await store.open();
    database.exec(`pragma max_page_count = ${pages + 60}`);
    expect(await fillUp(store)).toBeGreaterThan(0);
    await store.close();
  });

  it("stops no worker: what could not be stored is told, and stored when there is room again", async () => {
    const database = await handleOn(join(temporaryFolder(), "jobs.db"));
    const store = sqlite({ database });
    const full: unknown[] = [];
    const leasehold = new Leasehold({ store, log: ({ error }) => void full.push(error) });
    onTestFinished(() => leasehold.close());
    const result = "y".repeat(200_000);
    const job = defineJob({ name: "job", run: () => result });
    const answer = await leasehold.enqueue(job);
    const pages = Number(database.prepare("pragma page_count").get()?.["page_count"]);
    database.exec(`pragma max_page_count = ${pages + 2}`);
    leasehold.work([job], { renewer: "inline" });
    await eventually("somebody hears of it", () => full.some((error) => error instanceof StoreUnusableError));
    expect(await leasehold.get(answer)).toMatchObject({ state: "leased" });
    database.exec("pragma max_page_count = 1000000");
    expect(await leasehold.result(answer)).toBe(result);
    expect(await leasehold.get(answer)).toMatchObject({ state: "completed", generation: 1, attempt: 1 });
  });

  const mount = temporaryMount();
  optional("a full disk that is one", mount.missing, () => {
    it("is told as such, and loses nothing that was acknowledged", async () => {
      const path = join(mount.make(), "jobs.db");
      const store = sqlite(path);
      onTestFinished(() => store.close());
      expect(await fillUp(store)).toBeGreaterThan(0);
    });
  });

  /** Enqueues until there is no room; how many were acknowledged, all of which must be there. */
  async function fillUp(store: ReturnType<typeof sqlite>): Promise<number> {
    const acknowledged: string[] = [];
    for (;;) {
      const job = newJob({ input: JSON.stringify("x".repeat(8_000)) });
      try {
        await store.enqueue([job], CALL);
        acknowledged.push(job.jobId);
      } catch (error) {
        expect(error).toBeInstanceOf(StoreUnusableError);
        expect(String(error)).toMatch(/disk .* is full.*acknowledged before is safe/s);
        break;
      }
    }
    const { jobs } = await store.list({}, { limit: 10_000 }, CALL);
    expect(new Set(jobs.map(({ jobId }) => jobId))).toEqual(new Set(acknowledged));
    return acknowledged.length;
  }
});

function temporaryMount(): { missing: Forbidden | undefined; make: () => string } {
  const run = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;
  const mount = (folder: string): boolean => run("mount", "-t", "tmpfs", "-o", "size=1m", "none", folder);
  const probe = mkdtempSync(join(tmpdir(), "leasehold-mount-"));
  const mayMount = mount(probe);
  if (mayMount) run("umount", "-l", probe);
  rmSync(probe, { recursive: true });
  return {
    missing: mayMount
      ? undefined
      : new Forbidden("a small file system is mounted by root with CAP_SYS_ADMIN"),
    make: () => {
      const folder = temporaryFolder();
      if (!mount(folder)) throw new Error("mount failed");
      onTestFinished(() => void run("umount", "-l", folder));
      return folder;
    },
  };
}

describe("job.complete", () => {
  it("commits the body's writes with the completion, many bodies in one transaction, each undone alone", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const store = storeOn(path);
    await store.enqueue([newJob(), newJob(), newJob(), newJob()], CALL);
    const other = await handleOn(path);
    other.exec("create table effect (n integer)");
    const [a, b, c, d] = (await claimAll(store, world.ids.owner())).map(fenceOf);
    if (!a || !b || !c || !d) throw new Error("four jobs were enqueued");
    await store.settle([{ operation: "complete", fence: d, result: null }], CALL);
    const write =
      (n: number, then?: () => unknown) =>
      async (tx: Parameters<Parameters<typeof store.completeWith>[1]>[0]) => {
        await tx.query("insert into effect values ($1)", [n]);
        await then?.();
        return JSON.stringify(n);
      };
    const results = await Promise.allSettled([
      store.completeWith(a, write(1), CALL),
      store.completeWith(
        b,
        write(2, () => Promise.reject(new Error("no"))),
        CALL,
      ),
      store.completeWith(c, write(3), CALL),
      store.completeWith(d, write(4), CALL),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"]);
    expect((results[3] as PromiseRejectedResult).reason).toBeInstanceOf(AlreadySettledError);
    expect(
      other
        .prepare("select n from effect order by n")
        .all()
        .map((row) => row["n"]),
    ).toEqual([1, 3]);
    const [first, second] = await store.get([a.jobId, b.jobId], CALL);
    expect(first).toMatchObject({ state: "completed", result: "1" });
    expect(second).toMatchObject({ state: "leased" });
  });

  it("undoes a body that waits for anything but its tx, and not its neighbours", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const store = storeOn(path);
    await store.enqueue([newJob(), newJob()], CALL);
    const other = await handleOn(path);
    other.exec("create table effect (n integer)");
    const [a, b] = (await claimAll(store, world.ids.owner())).map(fenceOf);
    if (!a || !b) throw new Error("two jobs were enqueued");
    let late: (() => Promise<unknown>) | undefined;
    const slow = store.completeWith(
      a,
      async (tx) => {
        await tx.query("insert into effect values (1)");
        late = () => tx.query("insert into effect values (2)");
        await world.timers.sleep(1);
        return null;
      },
      CALL,
    );
    const quick = store.completeWith(b, async (tx) => insertEffect(tx, 3), CALL);
    await expect(slow).rejects.toThrow(TransactionBodyError);
    await quick;
    await expect(late?.()).rejects.toThrow(InvalidTransactionError);
    expect(
      other
        .prepare("select n from effect")
        .all()
        .map((row) => row["n"]),
    ).toEqual([3]);
  });

  it("is refused as a whole when stale, with both generations, and the journal keeps that", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const store = storeOn(path);
    await store.enqueue([newJob()], CALL);
    const other = await handleOn(path);
    other.exec("create table effect (n integer)");
    const [mine] = (await claimAll(store, world.ids.owner())).map(fenceOf);
    if (!mine) throw new Error("a job was enqueued");
    await store.revoke([mine.jobId], CALL);
    const late = store.completeWith(mine, async (tx) => insertEffect(tx, 1), CALL);
    await expect(late).rejects.toThrow(StaleLeaseError);
    await expect(late).rejects.toMatchObject({ generation: 1, current: 2, reason: "revoked" });
    expect(other.prepare("select n from effect").all()).toEqual([]);
    const journal = await store.journal(`job:${mine.jobId}`, CALL);
    expect(journal.map(({ kind }) => kind)).toContain("refused");
  });

  it("lets nobody else see or join its transaction while it is open", async () => {
    const store = storeOn(join(temporaryFolder(), "jobs.db"));
    await store.enqueue([newJob()], CALL);
    const [mine] = (await claimAll(store, world.ids.owner())).map(fenceOf);
    if (!mine) throw new Error("a job was enqueued");
    let seen: unknown = "nothing yet";
    let joining: Promise<unknown> | undefined;
    const failing = store.completeWith(
      mine,
      async (tx) => {
        await tx.query("create table effect (n integer)");
        void store.get([mine.jobId], CALL).then(([job]) => {
          seen = job?.state;
        });
        joining = store.enqueue([newJob()], CALL);
        throw new Error("undone");
      },
      CALL,
    );
    await expect(failing).rejects.toThrow("undone");
    await joining;
    expect((await store.list({}, { limit: 10 }, CALL)).jobs).toHaveLength(2);
    expect(seen).toBe("leased");
  });
});

describe("the caller's own transaction", () => {
  it("enqueues when it commits and not when it rolls back, and wakes a sleeper after the commit", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const store = storeOn(path);
    await store.open();
    const mine = await handleOn(path);
    mine.exec("begin immediate");
    await store.enqueue([newJob()], { ...CALL, tx: mine });
    mine.exec("rollback");
    expect(await claimAll(store, world.ids.owner())).toEqual([]);
    const woken = new Promise<void>((resolve) => store.listen(resolve).arm());
    mine.exec("begin immediate");
    await store.enqueue([newJob()], { ...CALL, tx: mine });
    mine.exec("commit");
    await woken;
    expect(await claimAll(store, world.ids.owner())).toHaveLength(1);
  });

  it("is refused when it is not open, not on this file, or no handle at all", async () => {
    const store = storeOn(join(temporaryFolder(), "jobs.db"));
    await store.open();
    const elsewhere = await handleOn(join(temporaryFolder(), "other.db"));
    const enqueue = (tx: unknown) => store.enqueue([newJob()], { ...CALL, tx });
    await expect(enqueue(elsewhere)).rejects.toThrow(/no open transaction/);
    elsewhere.exec("begin");
    await expect(enqueue(elsewhere)).rejects.toThrow(/in one file/);
    await expect(enqueue({ query() {} })).rejects.toThrow(InvalidTransactionError);
  });
});

describe("a caller's transaction on a store that was never opened", () => {
  it("is refused at once, since the two would wait for each other, and works once the store was opened", async () => {
    const path = join(temporaryFolder(), "jobs.db");
    const mine = await openDatabase(path);
    onTestFinished(() => mine.close());
    mine.exec("pragma journal_mode = wal");
    mine.exec("begin immediate");
    const early = storeOn(path).enqueue([newJob()], { ...CALL, tx: mine });
    await expect(early).rejects.toThrow(/await leasehold.open\(\) once/);
    mine.exec("rollback");

    await storeOn(path).open();
    mine.exec("begin immediate");
    expect(await storeOn(path).enqueue([newJob()], { ...CALL, tx: mine })).toMatchObject([
      { outcome: "enqueued" },
    ]);
    mine.exec("commit");
  });

  it("may be on the very handle that the store was given, whose other calls wait for its end", async () => {
    const mine = await openDatabase(join(temporaryFolder(), "jobs.db"));
    onTestFinished(() => mine.close());
    const store = sqlite({ database: mine });
    await store.open();
    mine.exec("begin immediate");
    await store.enqueue([newJob()], { ...CALL, tx: mine });
    const claiming = claimAll(store, world.ids.owner());
    await world.timers.sleep(0);
    mine.exec("commit");
    expect(await claiming).toHaveLength(1);
    await store.close();
  });
});

it("job.complete works on a manual clock as well: promises run between two turns", async () => {
  const manual = manualWorld({ seed: 1 });
  const store = storeOn(":memory:", { world: manual });
  await store.enqueue([newJob()], CALL);
  const [mine] = (await claimAll(store, world.ids.owner())).map(fenceOf);
  if (!mine) throw new Error("a job was enqueued");
  await store.completeWith(
    mine,
    async (tx) => {
      await tx.query("create table effect (n integer)");
      return insertEffect(tx, 1);
    },
    CALL,
  );
  expect(await store.get([mine.jobId], CALL)).toMatchObject([{ state: "completed" }]);
});
