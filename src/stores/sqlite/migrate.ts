import { SchemaVersionError } from "../../errors.ts";
import type { Database } from "./driver.ts";
import { loadMigrations, type Migration } from "./sql.ts";

const MIGRATIONS = loadMigrations();

/** The schema of this version. */
export const NEWEST: number = MIGRATIONS.at(-1)?.version ?? 0;

/** The schema in the file, 0 when there is none yet, and the oldest whose code can work with it. */
export function schemaIn(database: Database): { readonly version: number; readonly worksWith: number } {
  const table = database
    .prepare("select 1 as found from sqlite_master where type = 'table' and name = 'leasehold_store'")
    .get();
  if (table === undefined) return { version: 0, worksWith: 0 };
  const row = database.prepare("select schema_version, works_with from leasehold_store").get();
  return { version: Number(row?.["schema_version"]), worksWith: Number(row?.["works_with"]) };
}

/** @throws {SchemaVersionError} when a newer leasehold has migrated the file to what this one cannot work with */
export function pendingMigrations(database: Database, path: string): readonly Migration[] {
  const { version: found, worksWith } = schemaIn(database);
  if (worksWith > NEWEST) throw new SchemaVersionError(found, NEWEST, path);
  return MIGRATIONS.filter(({ version }) => version > found);
}

/**
 * Brings the schema up to date, all of it in the one transaction that the caller has open with the write lock held: of
 * ten processes that start at once one does the work and the others find it done, and one that is killed leaves nothing.
 */
export function migrate(database: Database, path: string): void {
  for (const { version, worksWith, sql } of pendingMigrations(database, path)) {
    database.exec(sql);
    database
      .prepare(
        "update leasehold_store set schema_version = :version, works_with = max(works_with, :worksWith)",
      )
      .run({ version, worksWith });
  }
}
