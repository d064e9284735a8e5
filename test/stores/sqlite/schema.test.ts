import { describe, expect, it } from "vitest";
import { loadDriver } from "../../../src/stores/sqlite/driver.ts";
import { migrate } from "../../../src/stores/sqlite/migrate.ts";
import { loadStatements } from "../../../src/stores/sqlite/sql.ts";

async function migrated() {
  const { Database } = await loadDriver();
  const database = new Database(":memory:");
  migrate(database, ":memory:");
  return database;
}

describe("the schema", () => {
  it("is, after all migrations, the one in schema.sql", async () => {
    const database = await migrated();
    const net = database
      .prepare(
        "select sql from sqlite_master where sql is not null and name like 'leasehold%' order by type desc, name",
      )
      .all()
      .map((row) => `${row["sql"]};`)
      .join("\n\n");
    await expect(`${net}\n`).toMatchFileSnapshot("../../../src/stores/sqlite/schema.sql");
    database.close();
  });
});

describe("the plan of every statement", () => {
  /** Tables that may be walked over: one row, a handful, or a part that the statement is about. */
  const MAY_SCAN =
    /SCAN (e|json_each|q|leasehold_store|leasehold_queue|leasehold_unfreed|sqlite_sequence|CONSTANT ROW|job|\(subquery)/;
  const HELD_ROWS_ONLY =
    /^SCAN leasehold_(job|lease) USING (COVERING )?INDEX leasehold_(job_(leased|waiting|delayed|open)|lease_held)/;
  const BOUNDED = new Set(["leases to prune"]);

  it("walks over no table that grows with the history or the backlog", async () => {
    const database = await migrated();
    const walks: string[] = [];
    for (const [name, text] of loadStatements()) {
      for (const row of database.prepare(`explain query plan ${text}`).all({})) {
        const detail = String(row["detail"]);
        if (!detail.startsWith("SCAN") || MAY_SCAN.test(detail) || HELD_ROWS_ONLY.test(detail)) continue;
        if (!BOUNDED.has(name)) walks.push(`${name}: ${detail}`);
      }
    }
    expect(walks).toEqual([]);
    database.close();
  });

  it("claims in the order of the index, without sorting", async () => {
    const database = await migrated();
    const plan = database
      .prepare(`explain query plan ${loadStatements().get("candidates")}`)
      .all({})
      .map((row) => String(row["detail"]));
    expect(plan.join("\n")).toMatch(/SEARCH leasehold_job USING INDEX leasehold_job_ready \(queue=\?\)/);
    expect(plan.join("\n")).not.toMatch(/TEMP B-TREE/);
    database.close();
  });
});
