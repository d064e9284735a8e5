import { SchemaVersionError } from "../../errors.ts";
import type { Database } from "./driver.ts";
import { loadMigrations, type Migration } from "./sql.ts";

/** The schema in the file; 0 when there is none yet. */
export function schemaVersion(database: Database): number {
  const table = database
    .prepare("select 1 as found from sqlite_master where type = 'table' and name = 'leasehold_store'")
    .get();
  if (table === undefined) return 0;
  return Number(database.prepare("select schema_version from leasehold_store").get()?.["schema_version"]);
}

/** @throws {SchemaVersionError} when a newer leasehold has migrated the file */
export function pendingMigrations(database: Database, path: string): readonly Migration[] {
  const migrations = loadMigrations();
  const known = migrations.at(-1)?.version ?? 0;
  const found = schemaVersion(database);
  if (found > known) throw new SchemaVersionError(found, known, path);
  return migrations.filter(({ version }) => version > found);
}

/**
 * Brings the schema up to date, all of it in the one transaction that the caller has open with the write lock held: of
 * ten processes that start at once one does the work and the others find it done, and one that is killed leaves nothing.
 */
export function migrate(database: Database, path: string): void {
  for (const { version, sql } of pendingMigrations(database, path)) {
    database.exec(sql);
    database.prepare("update leasehold_store set schema_version = :version").run({ version });
  }
}
