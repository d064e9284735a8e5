import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * The statements of one SQL file, by the name that stands after `-- name:` (what follows four spaces is for people).
 *
 * @param schema stands for `{schema}`, already quoted
 */
export function loadStatements(file: URL, schema = ""): (name: string) => string {
  const statements = new Map<string, string>();
  for (const part of loadText(file, schema)
    .split(/^-- name: /m)
    .slice(1)) {
    const [heading = "", ...lines] = part.split("\n");
    statements.set(heading.split("    ")[0]?.trim() ?? "", lines.join("\n").trim());
  }
  return (name) => {
    const text = statements.get(name);
    if (text === undefined) throw new Error(`There is no statement named ${JSON.stringify(name)}`);
    return text;
  };
}

export function loadText(file: URL, schema = ""): string {
  return readFileSync(fileURLToPath(file), "utf8").replace(/\{schema\}/g, () => schema);
}
