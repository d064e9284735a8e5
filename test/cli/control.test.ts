import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/index.ts";
import { cli, cliJson, enqueued, file, folder, JOBS, startCli, withStore } from "./support.ts";

const NOBODY = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11";

describe("cancel, revoke, retry and delete", () => {
  it("answer for each id, and do all that can be done", async () => {
    const cwd = folder();
    const [one, other] = [await enqueued(cwd, "note"), await enqueued(cwd, "note")];
    const { code, stdout, stderr } = await cli(["cancel", one, NOBODY, other], { cwd });
    expect(stdout).toBe(
      [one, other].map((id) => `${id}: cancelled; it is cancelled, generation 0.\n`).join(""),
    );
    expect(stderr).toMatch(`${NOBODY}: no such job`);
    expect(code).toBe(3);
  });

  it("answer in JSON", async () => {
    const cwd = folder();
    const id = await enqueued(cwd, "note");
    const applied = { jobId: id, outcome: "applied", state: "cancelled", generation: 0, pending: false };
    expect([...(await cliJson<object[]>(["cancel", id, NOBODY], { cwd }))]).toEqual([
      applied,
      { jobId: NOBODY, outcome: "gone" },
    ]);
    expect([...(await cliJson<object[]>(["cancel", id], { cwd }))]).toEqual([
      { jobId: id, outcome: "already", state: "cancelled" },
    ]);
  });

  it("exit with 5 when the job's state does not allow it, even if another one is gone", async () => {
    const cwd = folder();
    const id = await enqueued(cwd, "note");
    for (const command of ["revoke", "retry"]) {
      const { code, stderr } = await cli([command, id, NOBODY], { cwd });
      expect(stderr).toMatch(new RegExp(`${id}: not (revoked|retried): it`));
      expect(code).toBe(5);
    }
  });

  it("retry raises the generation, and --again the run", async () => {
    const cwd = folder();
    const id = await enqueued(cwd, "note");
    await withStore(cwd, (leasehold) => leasehold.cancel(id));
    await cli(["retry", id], { cwd });
    await withStore(cwd, (leasehold) => leasehold.cancel(id));
    await cli(["retry", id, "--again"], { cwd });
    const job = await withStore(cwd, (leasehold) => leasehold.get(id));
    expect(job).toMatchObject({ state: "ready", generation: 2, run: 2 });
  });

  it("delete removes the job, and never one that is leased", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    const waiting = await enqueued(cwd, "note");
    expect((await cli(["delete", waiting], { cwd })).code).toBe(0);
    expect(await withStore(cwd, (leasehold) => leasehold.get(waiting))).toBe(undefined);

    const leased = await enqueued(cwd, "slow", null, { queue: "slow things" });
    const worker = startCli(["work", "jobs.mjs"], { cwd });
    await worker.saw(/slow began/);
    expect((await cli(["delete", leased], { cwd })).code).toBe(5);
  });

  it("cancel reaches a running job, and revoke takes it from its owner with a higher generation", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    const id = await enqueued(cwd, "slow", null, { queue: "slow things", leaseMs: 4_000 });
    const worker = startCli(["work", "jobs.mjs"], { cwd });
    await worker.saw(/slow began/);
    const [revoked] = await cliJson<{ outcome: string; generation: number; token: object }[]>(
      ["revoke", id],
      { cwd },
    );
    expect(revoked).toMatchObject({
      outcome: "applied",
      generation: 2,
      token: { line: `job:${id}`, generation: 2 },
    });
    await worker.saw(/slow aborted/);
    await worker.saw(/slow began/, 2); // claimed again, at generation 3

    const { stdout } = await cli(["cancel", id], { cwd });
    expect(stdout).toMatch(/cancel requested; its owner hears of it/);
    await worker.saw(/slow aborted/, 2);
    worker.child.kill("SIGTERM");
    expect((await worker.ended).code).toBe(143);
    expect(await withStore(cwd, (leasehold) => leasehold.get(id))).toMatchObject({
      state: "cancelled",
      generation: 3,
    });
  });
});

describe("queues", () => {
  it("are counted, paused and resumed", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    await enqueued(cwd, "note");
    await enqueued(cwd, "note", 2, { delayMs: 3_600_000 });
    const paused = await cliJson<object[]>(["queues", "pause", "note"], { cwd });
    expect([...paused]).toEqual([{ queue: "note", paused: true }]);
    expect(await cliJson(["work", "jobs.mjs", "--drain"], { cwd })).toMatchObject({ completed: 0, exit: 0 });
    const [counts] = await cliJson<object[]>(["queues"], { cwd });
    expect(counts).toEqual({
      queue: "note",
      paused: true,
      limit: null,
      ready: 2,
      delayed: 1,
      blocked: 0,
      leased: 0,
      expired: 0,
      completed: 0,
      failed: 0,
      cancelled: 0,
    });
    expect((await cli(["queues", "resume", "note"], { cwd })).stdout).toBe("note: resumed.\n");
    expect(await cliJson(["work", "jobs.mjs", "--drain"], { cwd })).toMatchObject({ completed: 1 });
  });

  it("are limited, and the limit is shown and taken away", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    await enqueued(cwd, "note");
    const limit = { concurrency: 2, rate: { count: 100, perMs: 60_000 } };
    const set = await cli(["queues", "limit", "note", "--concurrency", "2", "--rate", "100/1m"], { cwd });
    expect(set.stdout).toBe("note: 2 at once, 100 per 1m.\n");
    expect((await cliJson<object[]>(["queues"], { cwd }))[0]).toMatchObject({ queue: "note", limit });
    expect((await cli(["queues"], { cwd })).stdout).toContain("2 at once, 100 per 1m");
    expect(await cliJson(["work", "jobs.mjs", "--drain"], { cwd })).toMatchObject({ completed: 1 });
    expect((await cli(["queues", "limit", "note", "--none"], { cwd })).stdout).toBe("note: no limit.\n");
    expect((await cliJson<object[]>(["queues"], { cwd }))[0]).toMatchObject({ queue: "note", limit: null });
    const none = await cli(["queues", "limit", "note"], { cwd });
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("a concurrency, a rate or both")]);
  });

  it("come with tabs between their columns away from a terminal, and take the store from before the verb too", async () => {
    const cwd = folder();
    await withStore(cwd, (leasehold) => leasehold.enqueue(defineJob({ name: "note", run() {} })), "other.db");
    const { code, stdout } = await cli(["queues", "--store", "other.db"], { cwd });
    expect(stdout.split("\n").map((line) => line.split("\t").slice(0, 2))).toEqual([
      ["queue", "ready"],
      ["note", "1"],
      [""],
    ]);
    expect(code).toBe(0);
    expect((await cli(["queues", "--store", "other.db", "pause", "note"], { cwd })).code).toBe(0);
    expect((await cli(["queues", "resume", "note", "--store", "other.db"], { cwd })).code).toBe(0);
  });
});
