import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Summary } from "../../src/cli/batch/summary.ts";
import { seededRandom } from "../support/seed.ts";
import { cli, cliJson, file, folder, JOBS, killGroup, ndjson, startCli, withStore } from "./support.ts";

const notes = (count: number): unknown[] =>
  Array.from({ length: count }, (_, i) => ({ job: "note", input: i }));

function world(lines: string, jobs = JOBS): { cwd: string; input: string } {
  const cwd = folder();
  file(cwd, "jobs.mjs", jobs);
  return { cwd, input: file(cwd, "in.ndjson", lines) };
}

const batchArgs = ["batch", "jobs.mjs", "--input", "in.ndjson"];

describe("batch", () => {
  it("runs every line, tells of them in its summary, and exits with 0", async () => {
    const { cwd, input } = world(ndjson(notes(25)));
    const { code, stdout, stderr } = await cli([...batchArgs, "--processes", "2"], { cwd });
    expect(code).toBe(0);
    expect(stdout).toContain(`${input}: 25 lines`);
    expect(stdout).toMatch(/^ {2}completed +25\b/m);
    expect(stderr.match(/^ran /gm)).toHaveLength(25);
  });

  it("prints nothing but its JSON on stdout, and exits with 1 when a job failed", async () => {
    const { cwd, input } = world(ndjson([...notes(2), { job: "broken", input: null }]));
    const { exit, ...summary } = await cliJson<Summary>(batchArgs, { cwd });
    expect(exit).toBe(1);
    expect(summary).toEqual({
      batch: input,
      lines: 3,
      enqueued: 3,
      alreadyDone: { completed: 0, failed: 0, cancelled: 0 },
      ended: { completed: 2, failed: 1, cancelled: 0, gone: 0 },
      notEnded: 0,
      conflicts: 0,
      reclaimed: 0,
      seconds: expect.any(Number),
      jobsPerSecond: expect.any(Number),
      interruptedBy: null,
      failures: [
        { line: 3, jobId: expect.any(String), error: expect.stringMatching(/^FinalError: no such account/) },
      ],
    });
  });

  it("started again counts what was done, runs only what is new, and what failed when asked to", async () => {
    const { cwd } = world(ndjson([...notes(3), { job: "broken", input: null }]));
    await cli(batchArgs, { cwd });
    const again = await cliJson<Summary>(batchArgs, { cwd });
    expect(again).toMatchObject({ enqueued: 0, alreadyDone: { completed: 3, failed: 1 }, exit: 1 });

    file(cwd, "in.ndjson", ndjson([...notes(5), { job: "broken", input: null }]));
    const grown = await cliJson<Summary>([...batchArgs, "--retry-failed"], { cwd });
    expect(grown).toMatchObject({
      enqueued: 2,
      alreadyDone: { completed: 3, failed: 0 },
      ended: { completed: 2, failed: 1 },
      exit: 1,
    });
  });

  it("takes equal lines for as many jobs, and another name for another batch", async () => {
    const { cwd } = world("7\n7\n\n7\n");
    const args = [...batchArgs, "--job", "note"];
    expect(await cliJson<Summary>(args, { cwd })).toMatchObject({ lines: 3, enqueued: 3, exit: 0 });
    expect(await cliJson<Summary>(args, { cwd })).toMatchObject({
      enqueued: 0,
      alreadyDone: { completed: 3 },
    });
    const named = await cliJson<Summary>([...args, "--name", "tuesday"], { cwd });
    expect(named).toMatchObject({ batch: "tuesday", enqueued: 3 });
  });

  it("reads standard input", async () => {
    const { cwd } = world("");
    const args = ["batch", "jobs.mjs", "--input", "-", "--name", "piped", "--job", "note"];
    expect(await cliJson<Summary>(args, { cwd, input: "1\n2\n" })).toMatchObject({
      ended: { completed: 2 },
      exit: 0,
    });
  });

  it("gives its worker processes the store that it was given, whatever its name", async () => {
    const { cwd } = world("1\n");
    const args = [...batchArgs, "--job", "note", "--store", "odd?name #1.db"];
    expect(await cliJson<Summary>(args, { cwd })).toMatchObject({ ended: { completed: 1 } });
    const normal = [...batchArgs, "--job", "note", "--store", "sqlite:fast.db?synchronous=normal"];
    expect(await cliJson<Summary>(normal, { cwd })).toMatchObject({ ended: { completed: 1 } });
  });

  it("has nothing to do for an empty file", async () => {
    expect(await cliJson<Summary>(batchArgs, { cwd: world("\n").cwd })).toMatchObject({ lines: 0, exit: 0 });
  });

  it("keeps each line's options", async () => {
    const lines = [
      {
        job: "note",
        input: 1,
        queue: "side door",
        priority: -3,
        maxAttempts: 4,
        leaseMs: 700,
        resource: "till",
      },
      { job: "note", input: 2, unique: { key: "k" }, maxRunMs: 9_000 },
    ];
    const { cwd } = world(ndjson(lines));
    await cli(batchArgs, { cwd });
    const { jobs } = await withStore(cwd, (leasehold) => leasehold.list());
    expect(jobs).toMatchObject([
      { input: 2, uniqueKey: "k", maxRunMs: 9_000, queue: "note", state: "completed" },
      {
        input: 1,
        queue: "side door",
        priority: -3,
        maxAttempts: 4,
        leaseMs: 700,
        resource: "till",
        state: "completed",
      },
    ]);
  });

  it("names every bad line before anything is written", async () => {
    const zod = new URL("../../node_modules/zod/index.js", import.meta.url).href;
    const jobs = `
      import { defineJob } from "leasehold";
      import { z } from "${zod}";
      export const a = defineJob({ name: "strict", input: z.object({ n: z.number() }), run() {} });`;
    const lines = [
      '{"job":"strict","input":{"n":1}}',
      "",
      "{oops",
      "[1]",
      '{"input":{"n":1}}',
      '{"job":"strict"}',
      '{"job":"other","input":1}',
      '{"job":"strict","input":{"n":"one"}}',
      '{"job":"strict","input":{"n":1},"delay":5}',
      '{"job":"strict","input":{"n":1},"delayMs":-5}',
      '{"job":"strict","input":{"n":1},"runAt":"soon"}',
      '{"job":"strict","input":{"n":1},"jobId":"0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11"}',
      '{"job":"strict","input":{"n":1},"unique":"k"}',
    ];
    const { cwd } = world(lines.join("\n"), jobs);
    const { code, stdout, stderr } = await cli(batchArgs, { cwd });
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain("11 of 12 lines cannot be used, and nothing was enqueued");
    for (const [line, why] of [
      [3, /it is not JSON/],
      [4, /not an object \{"job", "input"\}; with --job NAME/],
      [5, /"job" is missing/],
      [6, /"input" is missing/],
      [7, /there is no job "other"; there are strict/],
      [8, /does not fit its schema: input\.n:/],
      [9, /unknown option "delay"; there are queue, priority, delayMs/],
      [10, /delayMs: received -5/],
      [11, /runAt:/],
      [12, /a batch derives the ids/],
      [13, /unique/],
    ] as const) {
      expect(stderr).toMatch(new RegExp(`^  line ${line}: .*${why.source}`, "m"));
    }
    expect(await withStore(cwd, (leasehold) => leasehold.list())).toMatchObject({ jobs: [] });
  });

  it("lets a worker process that dies be replaced, and the job that killed it run again", async () => {
    const jobs = `
      import { existsSync, writeFileSync } from "node:fs";
      import { defineJob } from "leasehold";
      export default defineJob({ name: "deadly", leaseMs: 500, run() {
        if (existsSync("once")) return;
        writeFileSync("once", "");
        process.kill(process.pid, "SIGKILL");
      } });`;
    const { cwd } = world('{"job":"deadly","input":1}\n', jobs);
    const { code, stdout, stderr } = await cli([...batchArgs, "--json"], { cwd });
    expect(stderr).toMatch(/a worker process ended \(SIGKILL\)/);
    expect(JSON.parse(stdout)).toMatchObject({ ended: { completed: 1 }, reclaimed: 1 });
    expect(code).toBe(0);
  });

  it("does not wait for ever for a worker process that is frozen", async () => {
    const jobs = `
      import { existsSync, writeFileSync } from "node:fs";
      import { defineJob } from "leasehold";
      export default defineJob({ name: "freezing", leaseMs: 500, run() {
        if (existsSync("once")) return;
        writeFileSync("once", "");
        process.kill(process.pid, "SIGSTOP");
      } });`;
    const { cwd } = world('{"job":"freezing","input":1}\n', jobs);
    const args = [...batchArgs, "--processes", "2", "--grace", "0ms"];
    expect(await cliJson<Summary>(args, { cwd })).toMatchObject({ ended: { completed: 1 }, exit: 0 });
  });

  it("ends when its worker processes cannot begin", async () => {
    const jobs = `if (process.send) throw new Error("only in the parent"); ${JOBS}`.replace(
      /^(.*?)(import .*?;)/s,
      "$2$1",
    );
    const { cwd } = world(ndjson(notes(1)), jobs);
    const { code, stderr } = await cli(batchArgs, { cwd });
    expect(stderr).toMatch(/only in the parent/);
    expect(code).toBe(2);
  });
});

describe("batch, interrupted", () => {
  it("finishes what runs at the first signal, tells what is left, and goes on when started again", async () => {
    // The module sees what its worker process is told.
    const jobs = `
      import { existsSync } from "node:fs";
      import { defineJob } from "leasehold";
      process.on("message", ({ kind }) => console.log("told to", kind));
      export default defineJob({ name: "gated", async run({ input }) {
        console.log("began", input);
        while (!existsSync("open")) await new Promise((resolve) => setTimeout(resolve, 5));
      } });`;
    const { cwd } = world(ndjson([1, 2, 3, 4].map((input) => ({ job: "gated", input }))), jobs);
    const args = [...batchArgs, "--concurrency", "2", "--json"];
    const running = startCli(args, { cwd });
    await running.saw(/^began/m, 2);
    running.child.kill("SIGTERM");
    await running.saw(/finishing the running jobs/);
    await running.saw(/told to stop/);
    file(cwd, "open", "");
    const { code, stdout } = await running.ended;
    expect(code).toBe(143);
    const summary = JSON.parse(stdout) as Summary;
    expect(summary).toMatchObject({ interruptedBy: "SIGTERM", ended: { completed: 2 }, notEnded: 2 });
    expect(await cliJson<Summary>(args.slice(0, -1), { cwd })).toMatchObject({
      alreadyDone: { completed: 2 },
      ended: { completed: 2 },
      exit: 0,
    });
  });

  it("cuts short what runs at the second signal, and gives it back", async () => {
    const { cwd } = world('{"job":"slow","input":null}\n');
    const running = startCli(batchArgs, { cwd });
    await running.saw(/slow began/);
    running.child.kill("SIGINT");
    await running.saw(/finishing the running jobs/);
    running.child.kill("SIGINT");
    const { code, stdout, stderr } = await running.ended;
    expect(stderr).toMatch(/slow aborted/);
    expect(stdout).toMatch(/not ended +1\b/);
    expect(code).toBe(130);
    const { jobs } = await withStore(cwd, (leasehold) => leasehold.list());
    expect(jobs).toMatchObject([{ state: "ready", attempt: 0 }]);
  });
});

describe("batch, killed", () => {
  const random = seededRandom("batch killed");
  const LINES = 600;

  /** Each job that had completed by now, by what the store says. */
  function completed(cwd: string): Promise<Set<string>> {
    return withStore(cwd, async (leasehold) => {
      const { jobs } = await leasehold.list({ states: ["completed"] }, { limit: 2 * LINES });
      return new Set(jobs.map(({ jobId }) => jobId));
    });
  }

  // Handlers note their runs in a file of their own, which is still there when everybody was killed.
  const JOBS_NOTING = `
    import { appendFileSync } from "node:fs";
    import { defineJob } from "leasehold";
    export default defineJob({ name: "note", leaseMs: 500, async run({ job }) {
      appendFileSync("runs", job.id + "\\n");
      console.log("ran");
      await new Promise((resolve) => setTimeout(resolve, 5));
    } });`;
  const runs = (cwd: string): string[] => readFileSync(join(cwd, "runs"), "utf8").split("\n").filter(Boolean);

  it("at random moments, three times, ends with every job once and runs nothing that had completed again", async () => {
    const { cwd } = world(ndjson(notes(LINES)), JOBS_NOTING);
    const args = [...batchArgs, "--processes", "2", "--concurrency", "4"];
    let before = 0;
    let done = new Set<string>();
    const ranAgain = (): string[] =>
      runs(cwd)
        .slice(before)
        .filter((id) => done.has(id));
    for (let kill = 1; kill <= 3; kill++) {
      const running = startCli(args, { cwd, ownGroup: true });
      await running.saw(/^ran$/m, 1 + Math.floor(random() * 60));
      killGroup(running);
      await running.ended;
      expect(ranAgain()).toEqual([]);
      before = runs(cwd).length;
      done = await completed(cwd);
    }
    const summary = await cliJson<Summary>(args, { cwd });
    expect(summary).toMatchObject({ exit: 0, lines: LINES, notEnded: 0 });
    expect(summary.alreadyDone.completed + summary.ended.completed).toBe(LINES);
    expect(ranAgain()).toEqual([]);
    expect((await completed(cwd)).size).toBe(LINES);
  }, 60_000);

  it("while it enqueues, goes on with the same jobs", async () => {
    const { cwd } = world(ndjson(notes(3_000)), JOBS_NOTING);
    const running = startCli(batchArgs, { cwd, ownGroup: true });
    await running.saw(/^ran$/m);
    killGroup(running);
    await running.ended;
    const summary = await cliJson<Summary>([...batchArgs, "--concurrency", "50"], { cwd });
    expect(summary.alreadyDone.completed + summary.ended.completed).toBe(3_000);
    const [queue] = await withStore(cwd, (leasehold) => leasehold.counts());
    expect(queue).toMatchObject({ queue: "note", completed: 3_000, ready: 0 });
  });

  it("alone, without its worker processes, leaves none behind that works for ever", async () => {
    const { cwd } = world('{"job":"slow","input":null}\n');
    const running = startCli([...batchArgs, "--grace", "0ms"], { cwd });
    await running.saw(/slow began/);
    running.child.kill("SIGKILL");
    // Its output ends when the last process that could write to it has ended.
    expect((await running.ended).stderr).toMatch(/slow aborted/);
  });
});
