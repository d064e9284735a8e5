import { describe, expect, it } from "vitest";
import { cli, file, folder, JOBS } from "./support.ts";

const COMMANDS =
  "batch work enqueue list show cancel revoke retry delete queues with-lease migrate raise-floor doctor demo drill".split(
    " ",
  );

describe("help", () => {
  it("names every command, on stdout, and exits with 0", async () => {
    const { code, stdout, stderr } = await cli(["--help"], { cwd: folder() });
    expect(code).toBe(0);
    expect(stderr).toBe("");
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, "m"));
  });

  it("of a command tells its flags and what to know beside them", async () => {
    const { code, stdout } = await cli(["batch", "--help"], { cwd: folder() });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: leasehold batch \[options\] <jobs-module>\n/);
    expect(stdout).toMatch(/--retry-failed[\s\S]*nothing that had completed runs again/);
  });

  it("of the program loads no store, no client and no TypeScript loader", async () => {
    const cwd = folder();
    file(
      cwd,
      "hooks.mjs",
      'export async function load(url, context, next) { process._rawDebug("loads " + url); return next(url, context); }',
    );
    file(
      cwd,
      "loaded.mjs",
      'import { register } from "node:module"; register("./hooks.mjs", import.meta.url);',
    );
    const { stderr } = await cli(["--help"], {
      cwd,
      env: { NODE_OPTIONS: "--no-warnings --import ./loaded.mjs" },
    });
    expect(stderr).toMatch(/loads .*dist\/cli\/main\.js/);
    expect(stderr).not.toMatch(
      /dist\/(?:stores|worker|index\.js)|dist\/lib\/(?:lease|run|stores|sqlite|postgres|node-postgres|destinations)|node_modules\/(?:jiti|cli-table3|cli-progress)/,
    );
  });

  it("has a version", async () => {
    const { code, stdout } = await cli(["--version"], { cwd: folder() });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });
});

describe("wrong usage exits with 2, says why on stderr, and prints nothing on stdout", () => {
  const cases: [title: string, args: string[], message: RegExp][] = [
    ["no such command", ["lisst"], /unknown command 'lisst'[\s\S]*Did you mean list/],
    ["no such flag", ["list", "--stat", "ready"], /unknown option '--stat'[\s\S]*Did you mean --state/],
    [
      "a state that is none",
      ["list", "--state", "ready,done"],
      /ready, leased, completed, failed, cancelled/,
    ],
    ["a limit that is none", ["list", "--limit", "0"], /whole number, 1 or more/],
    ["a bare number as duration", ["work", "jobs.mjs", "--grace", "30"], /with a unit .* such as 30s/],
    ["a missing argument", ["show"], /missing required argument 'id'/],
    ["an id that is no UUID", ["show", "42", "--store", "there.db"], /a UUID such as/],
    ["batch without input", ["batch", "jobs.mjs"], /required option '--input <file>'/],
    ["a missing jobs module", ["work", "gone.mjs"], /JOBS_MODULE: there is no file .*gone\.mjs/],
    ["a folder as jobs module", ["work", "."], /is a folder/],
    [
      "a jobs module without jobs",
      ["work", "empty.mjs"],
      /exports no job \(its exports: a\)[\s\S]*defineJob/,
    ],
    ["a jobs module that throws", ["work", "throws.mjs"], /could not be loaded:[\s\S]*out of paper/],
    ["two jobs of one name", ["work", "twice.mjs"], /two different jobs named "same"/],
    [
      "a missing input file",
      ["batch", "jobs.mjs", "--input", "gone.ndjson"],
      /gone\.ndjson cannot be read: no such file/,
    ],
    ["a folder as input", ["batch", "jobs.mjs", "--input", "."], /is a folder/],
    [
      "standard input without a name",
      ["batch", "jobs.mjs", "--input", "-"],
      /--name is needed with --input -/,
    ],
    [
      "a job that is not there",
      ["batch", "jobs.mjs", "--input", "-", "--job", "nope"],
      /it has broken, note, slow/,
    ],
    ["a connection string that is none", ["list", "--store", "postgres://x y/z"], /is no connection string/],
    ["input that is not JSON", ["enqueue", "note", "{a:1}"], /not JSON[\s\S]*Quote it for the shell/],
    [
      "two times to run",
      ["enqueue", "note", "--delay", "1s", "--run-at", "2027-01-01T00:00:00Z"],
      /not both/,
    ],
    ["a time without a zone", ["enqueue", "note", "--run-at", "2027-01-01"], /2027-01-31T08:00:00Z/],
    ["--on-conflict alone", ["enqueue", "note", "--on-conflict", "keep"], /needs --unique-key/],
    ["with-lease without a command", ["with-lease", "nightly"], /missing required argument 'command'/],
  ];
  for (const [title, args, message] of cases) {
    it(title, async () => {
      const cwd = folder();
      file(cwd, "jobs.mjs", JOBS);
      file(cwd, "empty.mjs", "export const a = 1;");
      file(cwd, "throws.mjs", 'throw new Error("out of paper");');
      file(
        cwd,
        "twice.mjs",
        'import { defineJob } from "leasehold"; export const [a, b] = [0, 1].map(() => defineJob({ name: "same", run() {} }));',
      );
      file(cwd, "there.db", "");
      const { code, stdout, stderr } = await cli(args, { cwd });
      expect(stderr).toMatch(message);
      expect(stdout).toBe("");
      expect(code).toBe(2);
    });
  }
});

describe("a store that is not there", () => {
  for (const args of [
    ["list"],
    ["show", "lease:nightly"],
    ["queues"],
    ["queues", "pause", "mail"],
    ["raise-floor"],
    ["cancel", "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11"],
  ]) {
    it(`is exit code 4 for ${args.join(" ")}, and none is made`, async () => {
      const cwd = folder();
      const first = await cli([...args, "--store", "typo.db"], { cwd });
      expect(first.stderr).toMatch(/There is no store at .*typo\.db \(named by --store\)/);
      expect(first.code).toBe(4);
      expect((await cli(args, { cwd, env: { LEASEHOLD_STORE: "other.db" } })).stderr).toMatch(
        /named by LEASEHOLD_STORE/,
      );
    });
  }

  it("is exit code 4 when the file is no database", async () => {
    const cwd = folder();
    file(cwd, "text.db", "this is a text, and longer than the head of a database file would be, ".repeat(20));
    const { code, stderr } = await cli(["list", "--store", "text.db"], { cwd });
    expect(stderr).toMatch(/not a SQLite database/);
    expect(code).toBe(4);
  });

  it("is exit code 4 when the folder is not there", async () => {
    const { code } = await cli(["migrate", "--store", "no/such/folder/x.db"], { cwd: folder() });
    expect(code).toBe(4);
  });
});
