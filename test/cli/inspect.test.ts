import { describe, expect, it } from "vitest";
import type { JobView, JournalEntry } from "../../src/index.ts";
import { NEWEST } from "../../src/stores/sqlite/migrate.ts";
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
    const migrated = await cliJson<{ versions: number[] }>(["migrate"], { cwd });
    expect(migrated).toMatchObject({ dryRun: false, exit: 0 });
    expect([migrated.versions[0], migrated.versions.at(-1)]).toEqual([1, NEWEST]);
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

describe("steps", () => {
  const STEPS = `
    import { defineJob } from "leasehold";
    export const pay = defineJob({
      name: "pay",
      run: async ({ step, input }) => {
        await step("address", () => ({ of: input }));
        await step("charge", () => { throw Object.assign(new Error("the bank hung up"), { code: "LH_UNKNOWN_OUTCOME" }); });
      },
      backoff: { kind: "fixed", baseMs: 0, jitter: "none" },
    });
  `;

  it("are shown with their states, and an unknown one is resolved by a person", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", STEPS);
    const id = await enqueued(cwd, "pay", 7);
    expect((await cli(["work", "jobs.mjs", "--drain"], { cwd })).code).toBe(1);
    const { stdout } = await cli(["show", id], { cwd });
    expect(stdout).toMatch(/\nsteps\n {2}address {2}done \S+ in attempt 1, generation 1: \{"of":7\}\n/);
    expect(stdout).toMatch(
      / {2}charge {3}UNKNOWN, begun \S+ in attempt 1, generation 1, and has no end\n.*\n {2}leasehold resolve-step \S+ 'charge'/,
    );
    const shown = await cliJson<{ readonly steps: readonly object[] }>(["show", id, "--json"], { cwd });
    expect(shown.steps).toMatchObject([
      { step: "address", state: "done", result: { of: 7 } },
      { step: "charge", state: "unknown", key: `job:${id}/1/charge` },
    ]);

    for (const args of [[], ["--done", "--not-done"], ["--done", "{"]])
      expect((await cli(["resolve-step", id, "charge", ...args], { cwd })).code, String(args)).toBe(2);
    expect((await cli(["resolve-step", id, "nothing", "--not-done"], { cwd })).code).toBe(3);
    const resolved = await cli(["resolve-step", id, "charge", "--done", '"paid"'], { cwd });
    expect(resolved).toMatchObject({
      code: 0,
      stdout: `${id}: "charge" is done. Next: leasehold retry ${id}\n`,
    });
    expect((await cli(["resolve-step", id, "charge", "--not-done"], { cwd })).code).toBe(5);
    expect((await cli(["show", id], { cwd })).stdout).toMatch(/charge {3}done \S+, said an operator/);
    await cli(["retry", id], { cwd });
    expect((await cli(["work", "jobs.mjs", "--drain"], { cwd })).code).toBe(0);
  });
});
