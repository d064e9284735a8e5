/**
 * Every JavaScript block of the README and of docs/ is a program: it runs against dist/, in a process and a folder of its
 * own, and prints what the page says that it prints.
 */

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Block, blocksOf, page, pages, ROOT } from "./markdown.ts";

const PROGRAMS = new Set(["js", "mjs", "javascript", "ts", "typescript"]);
const LINKED = ["zod", "@photostructure/sqlite"];

for (const path of pages()) {
  const blocks = blocksOf(page(path));
  const programs = blocks.filter(({ language }) => PROGRAMS.has(language));
  if (programs.length === 0) continue;

  describe(`the code of ${path}`, () => {
    for (const program of programs) {
      const { line, language, marks } = program;
      it(`in line ${line} runs${outputOf(program, blocks) === undefined ? "" : " and prints what stands beside it"}`, async () => {
        // TypeScript would need a compiler on the oldest Node; the pages do without.
        expect([language, ...marks], "a block is marked `js run`, or is no program").toEqual(["js", "run"]);
        const { code, stdout, stderr } = await run(program.text);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        const expected = outputOf(program, blocks);
        if (expected !== undefined) expect(stdout).toMatch(matching(expected));
      });
    }
  });
}

/** The block after it, when that one is marked `text output`. */
function outputOf(program: Block, blocks: readonly Block[]): string | undefined {
  const next = blocks[blocks.indexOf(program) + 1];
  return next?.language === "text" && next.marks[0] === "output" ? next.text : undefined;
}

/** `…` stands for whatever differs from run to run. */
function matching(text: string): RegExp {
  const literal = text.split("…").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*")}$`);
}

async function run(text: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-docs-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  link(folder, "leasehold", ROOT);
  for (const name of LINKED) link(folder, name, join(ROOT, "node_modules", name));
  writeFileSync(join(folder, "program.mjs"), text);

  const child = spawn(process.execPath, ["program.mjs"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
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
