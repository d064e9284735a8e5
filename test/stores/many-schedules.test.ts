import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import { slotJobId } from "../../src/protocol/schedule.ts";
import { postgres } from "../../src/stores/postgres/index.ts";
import { loadStatements as postgresStatements } from "../../src/stores/postgres/sql.ts";
import { openDatabase, sqlite } from "../../src/stores/sqlite/index.ts";
import { loadStatements as sqliteStatements } from "../../src/stores/sqlite/sql.ts";
import type { Store } from "../../src/stores/store.ts";
import { write } from "../../src/testing/conformance/schedule-fixtures.ts";
import { eventually } from "../support/eventually.ts";
import { optional } from "../support/optional.ts";
import { postgresWorld } from "../support/postgres-harness.ts";
import { missingPostgres } from "../support/postgres-server.ts";

const MANY = 10_000;
const CALL = { timeoutMs: 15_000 };
const other = defineJob({ name: "other", run() {} });
/** Columns that stay when a row is made many. */
const REST =
  "revision, version, cron, zone, every_ms, at_most, paused, next_slot, set_at, last_slot, covered, template, created_at, changed_at";

/** Two workers fire all that are due, each once. */
async function allFired(open: () => Store, slotMs: number): Promise<void> {
  const workers = [open(), open()].map((store) => {
    const leasehold = new Leasehold({ store, log: () => {} });
    onTestFinished(() => leasehold.close());
    return leasehold.work([other], { renewer: "inline" });
  });
  const told = new Set<string>();
  let twice = 0;
  for (const worker of workers)
    worker.on("scheduled", ({ schedule, answer }) => {
      if (told.has(schedule) || answer.outcome !== "enqueued") twice++;
      told.add(schedule);
    });
  await eventually("all were fired", async () => told.size >= MANY);
  const store = open();
  onTestFinished(() => store.close());
  const [job] = await store.get([slotJobId("copy 1", slotMs)], CALL);
  expect(job?.name).toBe("send-letter");
  expect((await store.counts(CALL)).find(({ queue }) => queue === "letters")?.ready).toBe(MANY);
  expect(twice).toBe(0);
  expect((await store.schedules.due(10, CALL)).due).toEqual([]);
}

/** One schedule whose slot has come, to be made many. */
async function first(store: Store): Promise<number> {
  const everyMs = 366 * 86_400_000;
  const slotMs = Math.floor((await store.nowMs(CALL)) / everyMs) * everyMs;
  const covered = [[slotMs - 1, slotMs - 1]] as const;
  const schedule = write({ name: "copy 1", timing: { everyMs }, nextSlotMs: slotMs, covered });
  await store.schedules.put(schedule, undefined, CALL);
  return slotMs;
}

it("10,000 schedules that are due at once are fired by two workers on SQLite, found by indexes", {
  timeout: 120_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-"));
  const path = join(folder, "jobs.db");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const store = sqlite(path);
  onTestFinished(() => store.close());
  const slotMs = await first(store);
  const database = await openDatabase(path);
  database.exec(
    `with recursive n (n) as (select 2 union all select n + 1 from n where n < ${MANY})
     insert into leasehold_schedule (name, ${REST})
     select 'copy ' || n.n, ${REST} from n, leasehold_schedule where name = 'copy 1'`,
  );
  const plan = database
    .prepare(`explain query plan ${sqliteStatements().get("due schedules")}`)
    .all({})
    .map((row) => String(row["detail"]))
    .join("\n");
  database.close();
  expect(plan).toMatch(/leasehold_schedule_due/);
  expect(plan).toMatch(/leasehold_schedule_set/);
  await allFired(() => sqlite(path), slotMs);
});

optional("10,000 schedules on PostgreSQL 18", missingPostgres(18), () => {
  it("that are due at once are fired by two workers, found by indexes", { timeout: 120_000 }, async () => {
    const world = await postgresWorld(18);
    onTestFinished(() => world.close());
    const { schema, query, store } = world;
    const slotMs = await first(store);
    await query(
      `insert into ${schema}.schedule (name, ${REST})
       select 'copy ' || n, ${REST} from generate_series(2, ${MANY}) n, ${schema}.schedule where name = 'copy 1'`,
    );
    await query(`analyze ${schema}.schedule`);
    const text = postgresStatements(schema).get("due schedules") ?? "";
    const values = text.replaceAll("$1", "60000").replaceAll("$2", "200");
    const plan = JSON.stringify(await query(`explain ${values}`));
    expect(plan).toMatch(/schedule_due/);
    expect(plan).toMatch(/schedule_set/);
    await allFired(() => postgres({ connectionString: world.url, schema }), slotMs);
  });
});
