import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JobId } from "../../src/protocol/identity.ts";
import { type Database, loadDriver } from "../../src/stores/sqlite/driver.ts";
import { type SqliteOptions, sqlite } from "../../src/stores/sqlite/index.ts";
import type { Store } from "../../src/stores/store.ts";
import type { Competitor, ConformanceHarness, ConformanceWorld } from "../../src/testing/index.ts";
import { startCompetitor } from "./competitor.ts";
import { withShiftedClock } from "./shifted-clock.ts";

/** Moves the times of one job, named lease or schedule, whichever is called so. */
const SHIFT = [
  `update leasehold_job set lease_until = lease_until + :by, run_at = run_at + :by where job_id = :what`,
  `update leasehold_lease set lease_until = lease_until + :by where name = :what`,
  `update leasehold_schedule set next_slot = next_slot + :by, set_at = set_at + :by where name = :what`,
];

/** One file in a folder of its own, and every handle on it that a test asked for. */
export async function sqliteWorld(
  options: Pick<SqliteOptions, "synchronous"> = {},
): Promise<ConformanceWorld> {
  const { Database } = await loadDriver();
  const folder = await mkdtemp(join(tmpdir(), "leasehold-conformance-"));
  const path = join(folder, "jobs.db");
  const bound: unknown[] = [];
  const stores: Store[] = [];
  const handles: Database[] = [];
  const competitors: Competitor[] = [];

  const open = (file = path): Store => {
    // No sweep is put off: time does not pass here.
    const store = sqlite({
      ...options,
      path: file,
      sweepMs: 0,
      trace: (_, parameters) => bound.push(parameters),
    });
    stores.push(store);
    return store;
  };
  const handle = (file = path): Database => {
    const database = new Database(file, { timeout: 5_000 });
    handles.push(database);
    return database;
  };

  const store = open();
  await store.open();
  const aside = handle();
  aside.exec("create table note (key text primary key, value text not null)");
  const shift = (what: string, by: number): void => {
    for (const sql of SHIFT) aside.prepare(sql).run({ what, by });
  };

  return {
    store,
    lapse: async (what: JobId | string, byMs) => shift(what, -byMs),
    setBack: async (what: JobId | string, byMs) => shift(what, byMs),
    async another() {
      const other = open();
      await other.open();
      return other;
    },
    async begin() {
      const tx = handle();
      tx.exec("begin immediate");
      return {
        tx,
        write: async (key, value) =>
          void tx.prepare("insert into note values (:key, :value)").run({ key, value }),
        commit: async () => tx.exec("commit"),
        rollback: async () => tx.exec("rollback"),
      };
    },
    async writeInBody(tx, key, value) {
      await tx.query("insert into note (key, value) values ($1, $2)", [key, value]);
    },
    async read(key) {
      return aside.prepare("select value from note where key = :key").get({ key })?.["value"] as
        | string
        | undefined;
    },
    async withWorkerClock(offsetMs, body) {
      const before = bound.length;
      await withShiftedClock(offsetMs, body);
      return bound.slice(before);
    },
    async competitor() {
      const competitor = startCompetitor(path);
      competitors.push(competitor);
      await competitor.store.open();
      return competitor;
    },
    async unreachable() {
      const other = open();
      await other.open();
      handle().exec("begin immediate");
      return other;
    },
    async unmigrated(count) {
      return Array.from({ length: count }, () => open(join(folder, "new.db")));
    },
    async tooNew() {
      const file = join(folder, "later.db");
      const first = open(file);
      await first.open();
      handle(file).exec("update leasehold_store set schema_version = 999, works_with = 999");
      return open(file);
    },
    async close() {
      for (const competitor of competitors) await competitor.kill();
      for (const opened of stores) await opened.close();
      for (const database of handles) database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export const sqliteHarness: ConformanceHarness = { open: () => sqliteWorld(), timePrecisionMs: 1, gaps: [] };
