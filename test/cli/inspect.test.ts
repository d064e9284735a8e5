import { describe, expect, it } from "vitest";
import type { JobView, JournalEntry } from "../../src/index.ts";
import { loadMigrations } from "../../src/stores/sqlite/sql.ts";
import { cli, cliJson, enqueued, file, folder, JOBS, withStore } from "./support.ts";

const ID = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11";

interface Page {
  readonly jobs: readonly JobView[];
  readonly before: number | null;
}

describe("list", () => {
  it("shows the newest first, page by page", async () => {
    const cwd = folder();
    for (const input of [1, 2, 3]) await enqueued(cwd, "note", input);
    const first = await cliJson<Page>(["list", "--limit", "2"], { cwd });
    expect(first.jobs.map(({ input }) => input)).toEqual([3, 2]);
    const last = await cliJson<Page>(["list", "--limit", "2", "--before", String(first.before)], { cwd });
    expect(last.jobs.map(({ input }) => input)).toEqual([1]);
    expect(last.before).toBe(null);
    expect((await cli(["list", "--limit", "2"], { cwd })).stderr).toBe(
      `There are more: --before ${first.before}\n`,
    );
  });

  it("shows control codes in names and inputs, and lets none through to the terminal", async () => {
    const cwd = folder();
    const jobId = await enqueued(cwd, "e\u001b[31mvil", "\u009b2J", { queue: "bell\u0007" });
    for (const args of [
      ["list"],
      ["list", "--json"],
      ["show", jobId],
      ["show", jobId, "--json"],
      ["queues"],
    ]) {
      const { code, stdout } = await cli(args, { cwd });
      expect(code).toBe(0);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
      expect(stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }
    expect((await cli(["list"], { cwd })).stdout).toContain("e\\x1b[31mvil");
  });

  it("filters by queue, job, state, unique key and resource", async () => {
    const cwd = folder();
    await enqueued(cwd, "a", 1, { queue: "q" });
    await enqueued(cwd, "b", 2, { unique: { key: "k" } });
    await enqueued(cwd, "b", 3, { resource: "r", jobId: ID });
    await withStore(cwd, (leasehold) => leasehold.cancel(ID));
    const inputs = async (...args: string[]): Promise<unknown[]> =>
      (await cliJson<Page>(["list", ...args], { cwd })).jobs.map(({ input }) => input);
    expect(await inputs("--queue", "q")).toEqual([1]);
    expect(await inputs("--job", "b")).toEqual([3, 2]);
    expect(await inputs("--state", "ready")).toEqual([2, 1]);
    expect(await inputs("--state", "completed,cancelled", "--state", "failed")).toEqual([3]);
    expect(await inputs("--unique-key", "k")).toEqual([2]);
    expect(await inputs("--resource", "r")).toEqual([3]);
    expect(await inputs("--queue", "none")).toEqual([]);
  });

  it("writes ISO times and tabs away from a terminal, one job a line", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    await enqueued(cwd, "broken", null, { jobId: ID });
    await cli(["work", "jobs.mjs", "--drain"], { cwd });
    const [head = "", row = ""] = (await cli(["list"], { cwd })).stdout.split("\n");
    expect(head.split("\t")).toEqual("id job queue state generation attempt enqueued ended why".split(" "));
    const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(row.split("\t")).toEqual([
      ...[ID, "broken", "broken", "failed", "1", "1/10", iso, iso],
      expect.stringMatching(/^FinalError: no such account/),
    ]);
  });
});

describe("show", () => {
  it("tells a job and its journal", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    await enqueued(cwd, "note", "x", { jobId: ID });
    await cli(["work", "jobs.mjs", "--drain"], { cwd });
    const { code, stdout } = await cli(["show", ID], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^job +${ID}$`, "m"));
    expect(stdout).toMatch(/^state +completed$/m);
    expect(stdout).toMatch(/^result +\{"noted":"x"\}$/m);
    expect(stdout).toMatch(
      /journal\n.*generation +0 {2}enqueued\n.*generation +1 {2}claimed by .*\n.*completed by /,
    );

    const shown = await cliJson<{ job: JobView; journal: JournalEntry[] }>(["show", ID], { cwd });
    expect(shown.job).toMatchObject({ jobId: ID, state: "completed", generation: 1, result: { noted: "x" } });
    expect(shown.journal).toMatchObject([
      { kind: "enqueued", generation: 0 },
      { kind: "claimed", generation: 1 },
      { kind: "completed", generation: 1 },
    ]);
  });

  it("tells a named lease and its journal", async () => {
    const cwd = folder();
    await cli(["with-lease", "nightly", "--", process.execPath, "-e", ""], { cwd });
    const { stdout } = await cli(["show", "lease:nightly"], { cwd });
    expect(stdout).toMatch(/^owner +nobody$/m);
    expect(stdout).toMatch(/generation +1 {2}claimed by .*\n.*generation +1 {2}released by /);
    expect(await cliJson(["show", "lease:nightly"], { cwd })).toMatchObject({
      lease: { name: "nightly", generation: 1, owner: null },
      journal: [{ kind: "claimed" }, { kind: "released" }],
    });
  });

  it("exits with 3 for what is not there", async () => {
    const cwd = folder();
    await withStore(cwd, async () => {});
    expect(await cli(["show", ID], { cwd })).toMatchObject({ code: 3, stdout: "" });
    expect(await cli(["show", "lease:none"], { cwd })).toMatchObject({ code: 3, stdout: "" });
  });
});

describe("migrate", () => {
  it("prints the SQL and runs nothing with --dry-run, runs it without, and then has nothing to do", async () => {
    const cwd = folder();
    const dry = await cli(["migrate", "--dry-run"], { cwd });
    expect(dry.stdout).toMatch(/^-- schema 1\n[\s\S]*create table leasehold_job/);
    expect((await cli(["list"], { cwd })).code).toBe(4);
    expect(await cliJson(["migrate"], { cwd })).toMatchObject({
      dryRun: false,
      versions: loadMigrations().map(({ version }) => version),
      exit: 0,
    });
    expect((await cli(["migrate"], { cwd })).stdout).toMatch(/the schema was up to date/);
    const again = await cli(["migrate", "--dry-run"], { cwd });
    expect([again.stdout, again.stderr]).toEqual(["", expect.stringMatching(/nothing to do/)]);
  });
});

describe("raise-floor", () => {
  it("makes what was granted before stale, and the next generation higher than any copy's", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    await enqueued(cwd, "note", null, { jobId: ID });
    const { epoch, exit } = await cliJson<{ epoch: number }>(["raise-floor"], { cwd });
    expect([exit, epoch > 10_000]).toEqual([0, true]);
    await cli(["work", "jobs.mjs", "--drain"], { cwd });
    expect(await cliJson(["show", ID], { cwd })).toMatchObject({ job: { generation: epoch * 2 ** 32 + 1 } });
  });
});
