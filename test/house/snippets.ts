import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Finding {
  readonly rule: string;
  readonly message: string;
}

const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Lints each snippet as if it lay at its path in this project, with the project's own configuration, in a folder made for
 * it and removed. One run for all of them: the linter is quick, starting it less so.
 */
export function lint(snippets: ReadonlyMap<string, string>): Map<string, Finding[]> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-lint-"));
  try {
    for (const part of ["biome.json", "lint"])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    for (const [path, code] of snippets) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), `${code}\n`);
    }
    return findings(folder, [...snippets.keys()]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Report {
  diagnostics: { severity: string; category: string; message: string; location: { path: string } }[];
}

function findings(folder: string, paths: string[]): Map<string, Finding[]> {
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  const args = [
    biome,
    "lint",
    "--reporter=json",
    "--max-diagnostics=none",
    "--error-on-warnings",
    "src",
    "scripts",
  ];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  if (!stdout.startsWith("{")) throw new Error(`The linter gave no report: ${stdout}${stderr}`);
  const { diagnostics } = JSON.parse(stdout) as Report;
  const found = new Map<string, Finding[]>(paths.map((path) => [path, []]));
  for (const { severity, category, message, location } of diagnostics) {
    if (severity === "information") continue;
    found.get(location.path)?.push({ rule: category, message });
  }
  return found;
}
