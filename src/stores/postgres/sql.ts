import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Stands in every SQL file where the name of the PostgreSQL schema belongs. */
const SCHEMA = /\{schema\}/g;

/**
 * The view through which code of that schema sees store time. Every statement that writes reads it, so dropping it stops
 * such code at once, with an error of the server's: nothing has to be compared at each claim.
 */
function momentOf(version: number): string {
  return `moment_${version}`;
}

/** Every statement of `sql/*.sql` by the name that stands after `-- name:` (what follows four spaces is for people). */
export function loadStatements(
  schema: string,
  folder: URL = new URL("./sql/", import.meta.url),
): ReadonlyMap<string, string> {
  const statements = new Map<string, string>();
  const version = loadMigrations(schema).at(-1)?.version ?? 0;
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".sql"))) {
    const text = readFileSync(fileURLToPath(new URL(file, folder)), "utf8");
    for (const part of text.split(/^-- name: /m).slice(1)) {
      const [heading = "", ...lines] = part.split("\n");
      const name = heading.split("    ")[0]?.trim() ?? "";
      const sql = lines
        .join("\n")
        .trim()
        .replaceAll("{schema}.moment", `{schema}.${momentOf(version)}`);
      statements.set(name, inSchema(sql, schema));
    }
  }
  return statements;
}

export interface Migration {
  readonly version: number;
  /** The oldest schema whose code can still work after it. */
  readonly worksWith: number;
  /** All of it: with the views that let code in, and the note of the version. */
  readonly sql: string;
}

/** The migrations in order; the number at the start of the file's name is the schema that it leads to. */
export function loadMigrations(
  schema: string,
  folder: URL = new URL("./migrations/", import.meta.url),
): readonly Migration[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .map((name) =>
      migrationOf(
        Number.parseInt(name, 10),
        readFileSync(fileURLToPath(new URL(name, folder)), "utf8"),
        schema,
      ),
    )
    .sort((one, other) => one.version - other.version);
}

/** @param text begins with `-- works with: N` */
export function migrationOf(version: number, text: string, schema: string): Migration {
  const worksWith = Number(/^-- works with: (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
  if (!(worksWith <= version))
    throw new Error(`Migration ${version} does not say which schema it works with`);
  const shutOut = Array.from({ length: worksWith - 1 }, (_, n) => `{schema}.${momentOf(n + 1)}`);
  const sql = [
    text.trimEnd(),
    "",
    `create view {schema}.${momentOf(version)} as select * from {schema}.moment;`,
    ...(shutOut.length === 0 ? [] : [`drop view if exists ${shutOut.join(", ")};`]),
    `update {schema}.store set schema_version = ${version}, works_with = greatest(works_with, ${worksWith});`,
    "",
  ];
  return { version, worksWith, sql: inSchema(sql.join("\n"), schema) };
}

export function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

function inSchema(text: string, schema: string): string {
  return text.replace(SCHEMA, () => quoted(schema));
}
