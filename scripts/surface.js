// The names that each entry of the package exports, as built. `npm run surface:update` writes them to test/surface/; a
// difference fails the check: adding a name is a decision, removing one is a major version.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Every entry's snapshot file and what it should hold now: one `value NAME` or `type NAME` a line.
 *
 * @returns {Promise<{ entry: string, file: string, current: string, committed: string }[]>}
 */
export async function surfaces() {
  /** @type {{ exports: Record<string, string | { types: string, default: string }> }} */
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const found = [];
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (typeof target === "string") continue; // a file, not a module
    const file = join(
      root,
      "test",
      "surface",
      `${entry === "." ? "leasehold" : entry.slice(2).replaceAll("/", "-")}.txt`,
    );
    found.push({
      entry: `leasehold${entry.slice(1)}`,
      file,
      current: await surface(join(root, target.default), join(root, target.types)),
      committed: existsSync(file) ? readFileSync(file, "utf8") : "",
    });
  }
  return found;
}

/**
 * @param {string} module
 * @param {string} declarations
 */
async function surface(module, declarations) {
  const values = new Set(Object.keys(await import(pathToFileURL(module).href)));
  const declared = declaredNames(readFileSync(declarations, "utf8"), declarations);
  const undeclared = [...values].filter((name) => !declared.has(name));
  if (undeclared.length > 0) throw new Error(`${declarations} does not declare ${undeclared.join(", ")}.`);
  const lines = [...declared].sort().map((name) => `${values.has(name) ? "value" : "type"} ${name}\n`);
  return lines.join("");
}

/**
 * The names that an emitted declaration file exports. It knows the forms that a door may have, and refuses a file with
 * another one rather than miss a name.
 *
 * @param {string} text
 * @param {string} where
 * @returns {Set<string>}
 */
export function declaredNames(text, where) {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "");
  const lists = [...code.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}/gm)];
  const declarations = [
    ...code.matchAll(
      /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:function|class|const|interface|type|enum)\s+(\w+)/gm,
    ),
  ];
  const statements = new Set([...code.matchAll(/^export\b/gm)].map((match) => match.index));
  for (const { index } of [...lists, ...declarations]) statements.delete(index);
  const [unread] = statements;
  if (unread !== undefined)
    throw new Error(`${where}: cannot read \`${code.slice(unread).split("\n", 1)}\`.`);

  const listed = lists.flatMap(([, list = ""]) =>
    list.split(",").map((item) => item.trim().split(/\s+/).at(-1) ?? ""),
  );
  return new Set([...listed, ...declarations.map(([, name = ""]) => name)].filter(Boolean));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const update = process.argv.includes("--update");
  for (const { entry, file, current, committed } of await surfaces()) {
    if (current === committed) continue;
    if (update) {
      writeFileSync(file, current);
      console.log(`updated ${file.slice(root.length + 1)}`);
    } else {
      console.error(`${entry} exports other names than ${file.slice(root.length + 1)} says:`);
      console.error(difference(committed, current).join("\n"));
      console.error("If that is meant, run `npm run surface:update` and commit the result.");
      process.exitCode = 1;
    }
  }
}

/**
 * @param {string} before
 * @param {string} after
 */
function difference(before, after) {
  const [old, now] = [before, after].map((text) => new Set(text.split("\n").filter(Boolean)));
  const gone = [...(old ?? [])].filter((line) => !now?.has(line)).map((line) => `  - ${line}`);
  return gone.concat([...(now ?? [])].filter((line) => !old?.has(line)).map((line) => `  + ${line}`));
}
