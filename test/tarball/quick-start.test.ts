/**
 * What users get: the packed tarball, installed by npm into an empty project, with the README's own quick start, on every
 * Node that is supported.
 */

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blocksOf, page, ROOT } from "../docs/markdown.ts";
import { type NodeBinary, nodeBinaries } from "../support/nodes.ts";
import { optional } from "../support/optional.ts";
import { emptyDatabase } from "../support/postgres-database.ts";
import { missingPostgres } from "../support/postgres-server.ts";

const folder = mkdtempSync(join(tmpdir(), "leasehold-tarball-"));
const project = join(folder, "project");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

optional("the packed tarball in an empty project", await missingRegistry(), () => {
  let packed: string;

  beforeAll(async () => {
    mkdirSync(project);
    write("package.json", JSON.stringify({ name: "a-project", private: true }));
    const pack = await npm(["pack", "--silent", "--ignore-scripts", "--pack-destination", folder], ROOT);
    expect(pack).toMatchObject({ code: 0 });
    packed = join(folder, pack.stdout.trim().split("\n").at(-1) as string);
    const install = await npm(["install", "--no-audit", "--no-fund", "--prefer-offline", packed], project);
    expect(install).toMatchObject({ code: 0 });

    const [quickStart, printed] = quickStartOf(page("README.md"));
    write("quickstart.mjs", quickStart.text);
    write("expected.txt", printed.text);
    write("jobs.ts", JOBS_MODULE);
    write("in.ndjson", '{"n":1}\n{"n":2}\n{"n":3}\n');
    write("testing.mjs", TESTING);
  }, 120_000);

  it("brings one copy of leasehold, its types and its SQL, and nothing of the tests", () => {
    const files = readdirSync(join(project, "node_modules"), { recursive: true, encoding: "utf8" });
    const copies = files.filter((file) => /(^|[\\/])leasehold[\\/]package\.json$/.test(file));
    expect(copies).toEqual([join("leasehold", "package.json")]);
    const own = readdirSync(join(project, "node_modules", "leasehold"), {
      recursive: true,
      encoding: "utf8",
    });
    for (const wanted of ["README.md", "LICENSE", "CHANGELOG.md", join("dist", "index.d.ts")])
      expect(own).toContain(wanted);
    expect(own.filter((file) => file.endsWith(".sql")).length).toBeGreaterThan(5);
    expect(own.filter((file) => /\.test\.|(^|[\\/])(test|bench|examples)([\\/]|$)/.test(file))).toEqual([]);
  });

  for (const { name, version, path, missing } of differentNodes()) {
    optional(`on Node ${version} (${name})`, missing, () => {
      const node = (...args: string[]): Promise<Ended> => run(path, args, project);
      const leasehold = (...args: string[]): Promise<Ended> =>
        node(join("node_modules", "leasehold", "dist", "cli", "main.js"), ...args);

      it("runs the README's quick start, word by word", async () => {
        removeStore("jobs.db");
        const { stdout } = readExpected();
        expect(await node("quickstart.mjs")).toEqual({ code: 0, stdout, stderr: "" });
      });

      it("has a command that tells its version and helps", async () => {
        const { version: own } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
          version: string;
        };
        const [told, help] = await Promise.all([leasehold("--version"), leasehold("--help")]);
        expect(told).toEqual({ code: 0, stdout: `${own}\n`, stderr: "" });
        expect(help).toMatchObject({ code: 0, stderr: "" });
        expect(help.stdout).toContain("Usage: leasehold");
      });

      it("runs a batch of jobs defined in TypeScript, in a process of their own", async () => {
        removeStore("batch.db");
        const batch = await leasehold(
          ...["batch", "jobs.ts", "--input", "in.ndjson", "--job", "square", "--store", "batch.db", "--json"],
        );
        expect(batch.code, batch.stderr).toBe(0);
        expect(JSON.parse(batch.stdout)).toMatchObject({ lines: 3, ended: { completed: 3, failed: 0 } });
      });

      it("has the parts for tests, of the same copy", async () => {
        expect(await node("testing.mjs")).toEqual({ code: 0, stdout: "1 9 true\n", stderr: "" });
      });
    });
  }

  optional("with pg, on PostgreSQL 18", missingPostgres(18), () => {
    const other = join(folder, "with-pg");

    beforeAll(async () => {
      mkdirSync(other);
      writeFileSync(join(other, "package.json"), JSON.stringify({ name: "another-project", private: true }));
      const install = await npm(
        ["install", "--no-audit", "--no-fund", "--prefer-offline", packed, "pg"],
        other,
      );
      expect(install).toMatchObject({ code: 0 });
    }, 120_000);

    it("runs the README's program for many machines, word by word, and its commands", async () => {
      const blocks = blocksOf(page("README.md"));
      const at = blocks.findIndex(({ marks }) => marks.join(" ") === "run postgres");
      writeFileSync(join(other, "quickstart.mjs"), blocks[at]?.text ?? "");
      const url = await emptyDatabase(18);
      const env = { ...process.env, DATABASE_URL: url, LEASEHOLD_STORE: url };
      const ended = await run(process.execPath, ["quickstart.mjs"], other, env);
      expect(ended).toEqual({ code: 0, stdout: blocks[at + 1]?.text, stderr: "" });
      const main = join("node_modules", "leasehold", "dist", "cli", "main.js");
      const queues = await run(process.execPath, [main, "queues", "--json"], other, env);
      expect(JSON.parse(queues.stdout)).toMatchObject([{ queue: "greet", completed: 1 }]);
    });
  });

  it("is found by npx in the project", async () => {
    expect(await npm(["exec", "--no", "--", "leasehold", "--version"], project)).toMatchObject({
      code: 0,
      stderr: "",
    });
  });
});

/** One binary of each version: the one that runs the tests is mostly among those of the matrix. */
function differentNodes(): NodeBinary[] {
  return nodeBinaries().filter(
    ({ version }, i, all) => all.findIndex((other) => other.version === version) === i,
  );
}

const JOBS_MODULE = `
import { defineJob, type RunContext } from "leasehold";

interface Input {
  readonly n: number;
}

export const anyName = defineJob({
  name: "square",
  run: ({ input }: RunContext<Input>): number => input.n * input.n,
});
`;

const TESTING = `
import { defineJob, isJobDefinition, Leasehold } from "leasehold";
import { memory } from "leasehold/testing";

const square = defineJob({ name: "square", run: ({ input }) => input * input });
const leasehold = new Leasehold({ store: memory() });
const job = await leasehold.enqueue(square, 3);
const { completed } = await leasehold.drain([square]);
console.log(completed, await leasehold.result(job), isJobDefinition(square));
await leasehold.close();
`;

/** The first program below the heading, and what stands beside it. */
function quickStartOf(readme: string): [program: { text: string }, printed: { text: string }] {
  const blocks = blocksOf(readme.slice(readme.indexOf("## Quick start")));
  const at = blocks.findIndex(({ language }) => language === "js");
  const [program, printed] = [blocks[at], blocks[at + 1]];
  if (program === undefined || printed?.marks[0] !== "output")
    throw new Error("the README has no quick start");
  expect(program.text.trimEnd().split("\n").length, "lines of the quick start").toBeLessThanOrEqual(25);
  return [program, printed];
}

function readExpected(): { stdout: string } {
  return { stdout: readFileSync(join(project, "expected.txt"), "utf8") };
}

function removeStore(file: string): void {
  for (const end of ["", "-wal", "-shm", "-bell"]) rmSync(join(project, file + end), { force: true });
}

function write(name: string, text: string): void {
  writeFileSync(join(project, name), text);
}

/** One small request: whether npm, as it is configured here, can reach its registry. */
async function missingRegistry(): Promise<string | undefined> {
  const { code } = await npm(["ping", "--fetch-retries=0", "--fetch-timeout=8000"], folder);
  return code === 0 ? undefined : "npm cannot reach its registry";
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function npm(args: readonly string[], cwd: string): Promise<Ended> {
  // `npm test` must not hand this project's own settings on to that one.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_(config_local_prefix|lifecycle_|package_)/.test(name),
    ),
  );
  return run(process.platform === "win32" ? "npm.cmd" : "npm", args, cwd, env);
}

function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}
