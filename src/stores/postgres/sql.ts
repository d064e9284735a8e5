import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Stands in every SQL file where the name of the PostgreSQL schema belongs. */
const SCHEMA = /\{schema\}/g;

/** Every statement of `sql/*.sql` by the name that stands after `-- name:` (what follows four spaces is for people). */
export function loadStatements(
  schema: string,
  folder: URL = new URL("./sql/", import.meta.url),
): ReadonlyMap<string, string> {
  const statements = new Map<string, string>();
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".sql"))) {
    const text = readFileSync(fileURLToPath(new URL(file, folder)), "utf8");
    for (const part of text.split(/^-- name: /m).slice(1)) {
      const [heading = "", ...lines] = part.split("\n");
      const name = heading.split("    ")[0]?.trim() ?? "";
      statements.set(name, inSchema(lines.join("\n").trim(), schema));
    }
  }
  return statements;
}

export interface Migration {
  readonly version: number;
  readonly sql: string;
}

/** The migrations in order; the number at the start of the file's name is the schema that it leads to. */
export function loadMigrations(
  schema: string,
  folder: URL = new URL("./migrations/", import.meta.url),
): readonly Migration[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .map((name) => ({
      version: Number.parseInt(name, 10),
      sql: inSchema(readFileSync(fileURLToPath(new URL(name, folder)), "utf8"), schema),
    }))
    .sort((one, other) => one.version - other.version);
}

export function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

function inSchema(text: string, schema: string): string {
  return text.replace(SCHEMA, () => quoted(schema));
}
