/**
 * Every JavaScript block of the README and of docs/ is a program: it runs against dist/, in a process and a folder of its
 * own, and prints what the page says that it prints. `js run postgres` has an empty database in DATABASE_URL, `js run
 * redis` an empty server in REDIS_URL; they and `js run libraries` may import what is installed in test/integrations; `js
 * file NAME` is a module that the page's programs import.
 */

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { missingLibraries } from "../integrations/libraries.ts";
import { optional } from "../support/optional.ts";
import { emptyDatabase } from "../support/postgres-database.ts";
import { missingPostgres } from "../support/postgres-server.ts";
import { missingRedis, RedisServer } from "../support/redis-server.ts";
import { type Block, blocksOf, matching, page, pages, ROOT } from "./markdown.ts";

const PROGRAMS = new Set(["js", "mjs", "javascript", "ts", "typescript"]);
const LINKED = ["zod", "@photostructure/sqlite"];
const LIBRARIES = join(ROOT, "test", "integrations", "node_modules");

for (const path of pages()) {
  const blocks = blocksOf(page(path));
  const programs = blocks.filter(({ language }) => PROGRAMS.has(language));
  if (programs.length === 0) continue;

  const files = programs.filter(({ marks }) => marks[0] === "file");
  const onPostgres = programs.filter(({ marks }) => marks[1] === "postgres");
  const onRedis = programs.filter(({ marks }) => marks[1] === "redis");
  const withLibraries = programs.filter(({ marks }) => marks[1] === "libraries");
  const elsewhere = programs.filter(
    (program) => ![files, onPostgres, onRedis, withLibraries].flat().includes(program),
  );
  const runs = (
    program: Block,
    wanted: readonly string[],
    environment: () => Promise<Record<string, string>>,
  ): void => {
    const { line, language, marks, text } = program;
    const expected = outputOf(program, blocks);
    it(`in line ${line} runs${expected === undefined ? "" : " and prints what stands beside it"}`, async () => {
      // TypeScript would need a compiler on the oldest Node; the pages do without.
      expect([language, ...marks], "a block is marked `js run`, or is no program").toEqual(wanted);
      const { code, stdout, stderr } = await run(text, files, await environment(), wanted.length > 2);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      if (expected !== undefined) expect(stdout).toMatch(matching(expected));
    });
  };

  if (elsewhere.length > 0) {
    describe(`the code of ${path}`, () => {
      for (const program of elsewhere) runs(program, ["js", "run"], async () => ({}));
    });
  }
  if (withLibraries.length > 0) {
    optional(`the code of ${path} with its libraries`, missingLibraries(), () => {
      for (const program of withLibraries) runs(program, ["js", "run", "libraries"], async () => ({}));
    });
  }
  if (onRedis.length > 0) {
    optional(`the code of ${path} on Redis`, missingRedis(), () => {
      for (const program of onRedis) {
        runs(program, ["js", "run", "redis"], async () => {
          const server = await RedisServer.start();
          onTestFinished(() => server.close());
          return { REDIS_URL: `redis://127.0.0.1:${server.port}` };
        });
      }
    });
  }
  if (onPostgres.length === 0) continue;
  optional(`the code of ${path} on PostgreSQL 18`, missingLibraries() ?? missingPostgres(18), () => {
    for (const program of onPostgres) {
      runs(program, ["js", "run", "postgres"], async () => ({ DATABASE_URL: await emptyDatabase(18) }));
    }
  });
}

/** The block after it, when that one is marked `text output`. */
function outputOf(program: Block, blocks: readonly Block[]): string | undefined {
  const next = blocks[blocks.indexOf(program) + 1];
  return next?.language === "text" && next.marks[0] === "output" ? next.text : undefined;
}

async function run(
  text: string,
  files: readonly Block[],
  environment: Record<string, string>,
  hasLibraries: boolean,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-docs-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  link(folder, "leasehold", ROOT);
  for (const name of LINKED) link(folder, name, join(ROOT, "node_modules", name));
  if (hasLibraries) {
    for (const name of readdirSync(LIBRARIES)) {
      if (!/^[.@]/.test(name)) link(folder, name, join(LIBRARIES, name));
    }
  }
  for (const { marks, text } of files) writeFileSync(join(folder, marks[1] as string), text);
  writeFileSync(join(folder, "program.mjs"), text);

  const child = spawn(process.execPath, ["program.mjs"], {
    cwd: folder,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    stdout += part;
  });
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    stderr += part;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  return { code, stdout, stderr };
}

function link(folder: string, name: string, target: string): void {
  const path = join(folder, "node_modules", name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path, "junction");
}
