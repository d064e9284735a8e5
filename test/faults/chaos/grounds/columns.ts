/** A row as one JSON text, in SQLite: its columns by their names. */
export function jsonOf(row: "old" | "new", columns: readonly string[]): string {
  return `json_object(${columns.map((name) => `'${name}', ${row}.${name}`).join(", ")})`;
}
