import { describe, expect, it } from "vitest";
import { cli, cliJson, enqueued, file, folder, JOBS, startCli, withStore } from "./support.ts";

const ID = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11";

describe("enqueue", () => {
  it("says to which job it led, and whether that one was there before", async () => {
    const cwd = folder();
    const args = ["enqueue", "note", "1", "--job-id", ID];
    expect(await cli(args, { cwd })).toMatchObject({ code: 0, stdout: `${ID}: enqueued.\n`, stderr: "" });
    expect(await cli(args, { cwd })).toMatchObject({
      code: 0,
      stdout: `${ID}: was there before; it is ready.\n`,
    });
    expect(await cliJson(args, { cwd })).toMatchObject({ outcome: "repeated", jobId: ID, state: "ready" });
  });

  it("gives the job every option", async () => {
    const cwd = folder();
    const args = [
      ...["enqueue", "note", '{"a":[1,null]}', "--job-id", ID, "--queue", "q", "--priority", "-2"],
      ...["--run-at", "2999-01-01T00:00:00Z", "--max-attempts", "3", "--lease", "2s", "--max-run", "1m"],
      ...["--resource", "r", "--unique-key", "k", "--on-conflict", "throw"],
    ];
    expect((await cli(args, { cwd })).code).toBe(0);
    expect(await withStore(cwd, (leasehold) => leasehold.get(ID))).toMatchObject({
      jobId: ID,
      name: "note",
      input: { a: [1, null] },
      queue: "q",
      priority: -2,
      runAtMs: Date.UTC(2999, 0, 1),
      maxAttempts: 3,
      leaseMs: 2_000,
      maxRunMs: 60_000,
      resource: "r",
      uniqueKey: "k",
      state: "ready",
    });
  });

  it("reads its input from standard input, and takes null for none", async () => {
    const cwd = folder();
    await cli(["enqueue", "note", "-", "--job-id", ID], { cwd, input: ' {"n": 1}\n' });
    await cli(["enqueue", "note"], { cwd });
    const { jobs } = await withStore(cwd, (leasehold) => leasehold.list());
    expect(jobs).toMatchObject([{ input: null }, { input: { n: 1 } }]);
  });

  it("exits with 5 when the unique key is taken and that was to be an error", async () => {
    const cwd = folder();
    await enqueued(cwd, "note", 1, { jobId: ID, unique: { key: "k" } });
    const kept = await cliJson(["enqueue", "note", "--unique-key", "k"], { cwd });
    expect(kept).toMatchObject({ outcome: "kept", jobId: ID, exit: 0 });
    const { code, stdout, stderr } = await cli(
      ["enqueue", "note", "--unique-key", "k", "--on-conflict", "throw"],
      { cwd },
    );
    expect(stderr).toMatch(/the unique key "k" is held by job 0198c5a4/);
    expect([code, stdout]).toEqual([5, ""]);
  });

  it("takes the job's defaults from its module, and refuses a name that the module does not have", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    await cli(["enqueue", "slow", "--module", "jobs.mjs"], { cwd });
    const { jobs } = await withStore(cwd, (leasehold) => leasehold.list());
    expect(jobs).toMatchObject([{ queue: "slow things", leaseMs: 1_000 }]);
    const { code, stderr } = await cli(["enqueue", "fast", "--module", "jobs.mjs"], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/no job "fast"; it has broken, note, slow/)]);
  });

  it("waits for the end and prints the result, while a worker elsewhere does the work", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    const worker = startCli(["work", "jobs.mjs"], { cwd });
    await worker.saw(/working on broken, note, slow/);
    expect(await cli(["enqueue", "note", "5", "--wait"], { cwd })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/: enqueued\.\n\{"noted":5\}\n$/),
    });
    expect(await cliJson(["enqueue", "note", "6", "--wait"], { cwd })).toMatchObject({
      outcome: "enqueued",
      result: { noted: 6 },
    });
    const failed = await cli(["enqueue", "broken", "--wait"], { cwd });
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringMatching(/ended as failed/)]);
    const late = await cli(["enqueue", "note", "--queue", "nobody", "--wait", "--timeout", "1ms"], { cwd });
    expect([late.code, late.stderr]).toEqual([4, expect.stringMatching(/did not end within 1 ms/)]);
  });

  it("refuses what would not survive", async () => {
    const { code, stderr } = await cli(["enqueue", "note", '{"a":"\\u0000"}'], { cwd: folder() });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/input\.a: the text contains NUL/)]);
  });
});

describe("order", () => {
  it("enqueues after other jobs, and show and list tell by whom a job is blocked", async () => {
    const cwd = folder();
    const first = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f12";
    await cli(["enqueue", "note", "1", "--job-id", first], { cwd });
    const args = ["enqueue", "note", "2", "--job-id", ID, "--after", first];
    expect((await cli(args, { cwd })).code).toBe(2);
    expect((await cli([...args, "--on-failure", "wait"], { cwd })).code).toBe(0);
    expect((await cli(["show", ID], { cwd })).stdout).toMatch(
      new RegExp(`blocked by +${first}, which is ready \\(on failure: wait\\)`),
    );
    expect(await cliJson(["show", ID], { cwd })).toMatchObject({
      job: { blockedBy: 1 },
      blockers: [{ kind: "job", jobId: first, state: "ready", onFailure: "wait" }],
    });
    expect((await cli(["list"], { cwd })).stdout).toMatch(/ready, blocked by 1/);
    const unknown = ["enqueue", "note", "3", "--after", "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f13"];
    expect(await cli([...unknown, "--on-failure", "run"], { cwd })).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/which is not there/),
    });
  });

  it("follows up behind the live job, and shows a batch", async () => {
    const cwd = folder();
    const follow = ["enqueue", "note", "--unique-key", "k", "--on-conflict", "followUp"];
    await cli([...follow, "--job-id", ID], { cwd });
    expect((await cli(follow, { cwd })).stdout).toMatch(new RegExp(`enqueued, blocked behind ${ID}\\.`));
    await withStore(cwd, async (leasehold) => {
      const { defineJob } = await import("../../src/index.ts");
      await leasehold.enqueueMany([{ job: defineJob({ name: "note", run: () => {} }) }], { batch: "b" });
    });
    expect((await cli(["show", "batch:b"], { cwd })).stdout).toMatch(/ended +0 of 1/);
    expect(await cliJson(["show", "batch:b"], { cwd })).toMatchObject({ name: "b", total: 1, thenId: null });
    expect((await cli(["show", "batch:none"], { cwd })).code).toBe(3);
  });
});
