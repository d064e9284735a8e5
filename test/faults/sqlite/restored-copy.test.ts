import { renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../../src/client/define-job.ts";
import { Leasehold } from "../../../src/client/leasehold.ts";
import { type SqliteGuard, sqliteGuard } from "../../../src/destinations/sqlite/index.ts";
import { jobLine } from "../../../src/protocol/identity.ts";
import { openDatabase, sqlite } from "../../../src/stores/sqlite/index.ts";
import { cli } from "../../cli/support.ts";
import { temporaryFolder } from "../../stores/sqlite/world.ts";
import { Story } from "../story.ts";

interface World {
  readonly story: Story;
  readonly guard: SqliteGuard;
  /** Who wrote, in order. */
  written(): unknown[];
  /** The store's file, opened anew. */
  open(): Leasehold;
  /** As SQLite makes a copy of a file, its log included. */
  copy(): Promise<void>;
  /** While nobody has the file open: another file of that name, without the log of the one before. */
  restore(): void;
  readonly path: string;
}

async function world(): Promise<World> {
  const folder = temporaryFolder();
  const [path, backup] = [join(folder, "jobs.db"), join(folder, "backup.db")];
  const database = await openDatabase(join(folder, "data.db"));
  onTestFinished(() => database.close());
  database.exec("pragma journal_mode = wal; create table ledger (written_by text)");
  const story = new Story();
  return {
    story,
    guard: sqliteGuard(database),
    path,
    written: () =>
      database
        .prepare("select written_by from ledger order by rowid")
        .all()
        .map((row) => (row as { written_by: string }).written_by),
    open() {
      const leasehold = new Leasehold({ store: sqlite({ path }), log: story.log });
      onTestFinished(() => leasehold.close());
      return leasehold;
    },
    async copy() {
      const source = await openDatabase(path);
      source.exec(`vacuum into '${backup}'`);
      source.close();
    },
    restore() {
      for (const log of ["-wal", "-shm"]) rmSync(path + log, { force: true });
      renameSync(backup, path);
    },
  };
}

describe("a store file that was restored from an older copy", () => {
  it("D6 C19 gives a job out below the mark, is lifted to it by the refused worker, and the next claim is admitted", async () => {
    const { story, guard, written, open, copy, restore } = await world();
    let who = "A";
    let tries = 0;
    const credit = defineJob({
      name: "credit",
      backoff: { baseMs: 0, jitter: "none" },
      async run(run) {
        await story.write(who, guard, run, (tx) => tx.query("insert into ledger values ($1)", [who]));
        if (who === "A" && ++tries < 3) throw new Error("once more");
      },
    });
    const before = open();
    const { jobId } = await before.enqueue(credit);
    await before.close();
    await copy();
    const a = open();
    await a.drain([credit]);
    await a.close();
    restore();
    story.tell("the file is restored from a copy that has heard of none of it");

    who = "B";
    const after = open();
    const worker = after.work([credit]);
    story.follow("B", worker);
    await after.result(jobId as never, { timeoutMs: 20_000 });
    await worker.stop();
    const text = story.toString();
    expect(written(), text).toEqual(["A", "A", "A", "B"]);
    expect(await guard.markOf(jobLine(jobId)), text).toEqual({ generation: 4, owner: worker.owner });
    expect(await after.get(jobId), text).toMatchObject({ state: "completed", generation: 4, attempt: 1 });
    expect(worker.counts, text).toMatchObject({ completed: 1, released: 1, retried: 0 });
  });

  it("D6 C19 gives a named lease out below the mark; the refused withLease lifts it for the next one", async () => {
    const { story, guard, written, open, copy, restore } = await world();
    const write = (leasehold: Leasehold, who: string): Promise<void> =>
      leasehold.withLease("ledger", {}, (lease) =>
        story.write(who, guard, { lease }, (tx) => tx.query("insert into ledger values ($1)", [who])),
      );
    const before = open();
    await before.open();
    await before.close();
    await copy();
    const a = open();
    for (let n = 0; n < 3; n++) await write(a, "A");
    await a.close();
    restore();
    story.tell("the file is restored from a copy that has heard of none of it");

    const b = open();
    await expect(write(b, "B")).rejects.toMatchObject({ code: "LH_STALE_TOKEN" });
    await write(b, "B");
    expect(written(), story.toString()).toEqual(["A", "A", "A", "B"]);
  });

  it("C19 leaves a mark of another epoch to a person, whose raise-floor lets the job's next try through", async () => {
    const { story, guard, written, open, copy, restore, path } = await world();
    let who = "A";
    const credit = defineJob({
      name: "credit",
      maxAttempts: 20,
      backoff: { baseMs: 200, jitter: "none" },
      async run(run) {
        await story.write(who, guard, run, (tx) => tx.query("insert into ledger values ($1)", [who]));
      },
    });
    const before = open();
    const { jobId } = await before.enqueue(credit);
    await before.close();
    await copy();
    const a = open();
    await a.store.raiseFloor({ timeoutMs: 10_000 });
    await a.drain([credit]);
    await a.close();
    restore();
    story.tell("the file is restored from a copy that has not heard of the floor either");

    who = "B";
    const refused = open();
    const gaveUp = refused.work([credit]);
    await new Promise<void>((resolve) => void gaveUp.on("retrying", () => resolve()));
    await gaveUp.stop();
    await refused.close();
    const raised = await cli(["raise-floor", "--store", path], { cwd: dirname(path) });
    expect(raised, raised.stderr).toMatchObject({ code: 0 });
    story.tell("leasehold raise-floor");
    const after = open();
    const worker = after.work([credit]);
    story.follow("B", worker);
    await after.result(jobId as never, { timeoutMs: 20_000 });
    await worker.stop();
    const text = story.toString();
    expect(written(), text).toEqual(["A", "B"]);
    expect(text).toContain("run `leasehold raise-floor`");
  });
});
