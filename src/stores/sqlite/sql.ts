import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Every statement of `sql/*.sql` by the name that stands after `-- name:` (what follows four spaces is for people). */
export function loadStatements(
  folder: URL = new URL("./sql/", import.meta.url),
): ReadonlyMap<string, string> {
  const statements = new Map<string, string>();
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".sql"))) {
    const text = readFileSync(fileURLToPath(new URL(file, folder)), "utf8");
    for (const part of text.split(/^-- name: /m).slice(1)) {
      const [heading = "", ...lines] = part.split("\n");
      const name = heading.split("    ")[0]?.trim() ?? "";
      statements.set(name, lines.join("\n").trim());
    }
  }
  return statements;
}

export interface Migration {
  readonly version: number;
  /** The oldest schema whose code can still work after it. */
  readonly worksWith: number;
  readonly sql: string;
}

/** The migrations in order; the number at the start of the file's name is the schema that it leads to. */
export function loadMigrations(
  folder: URL = new URL("./migrations/", import.meta.url),
): readonly Migration[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .map((name) =>
      migrationOf(Number.parseInt(name, 10), readFileSync(fileURLToPath(new URL(name, folder)), "utf8")),
    )
    .sort((one, other) => one.version - other.version);
}

/** @param sql begins with `-- works with: N` */
function migrationOf(version: number, sql: string): Migration {
  const worksWith = Number(/^-- works with: (\d+)$/m.exec(sql)?.[1] ?? Number.NaN);
  if (!(worksWith <= version))
    throw new Error(`Migration ${version} does not say which schema it works with`);
  return { version, worksWith, sql };
}
