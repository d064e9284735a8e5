import { describe, expect, it } from "vitest";
import type { EnqueueAnswer } from "../../src/index.ts";
import { cli, cliJson, file, folder, JOBS, startCli } from "./support.ts";

const NOBODY = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11";

async function enqueued(cwd: string, name = "note", ...args: string[]): Promise<string> {
  return (await cliJson<EnqueueAnswer>(["enqueue", name, "1", ...args], { cwd })).jobId;
}

describe("cancel, revoke, retry and delete", () => {
  it("answer for each id, and do all that can be done", async () => {
    const cwd = folder();
    const [one, other] = [await enqueued(cwd), await enqueued(cwd)];
    const { code, stdout, stderr } = await cli(["cancel", one, NOBODY, other], { cwd });
    expect(stdout).toBe(
      [one, other].map((id) => `${id}: cancelled; it is cancelled, generation 0.\n`).join(""),
    );
    expect(stderr).toMatch(`${NOBODY}: no such job`);
    expect(code).toBe(3);
  });

  it("answer in JSON", async () => {
    const cwd = folder();
    const id = await enqueued(cwd);
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
    const id = await enqueued(cwd);
    for (const command of ["revoke", "retry"]) {
      const { code, stderr } = await cli([command, id, NOBODY], { cwd });
      expect(stderr).toMatch(new RegExp(`${id}: not (revoked|retried): it`));
      expect(code).toBe(5);
    }
  });

  it("retry raises the generation, and --again the run", async () => {
    const cwd = folder();
    const id = await enqueued(cwd);
    await cli(["cancel", id], { cwd });
    await cli(["retry", id], { cwd });
    await cli(["cancel", id], { cwd });
    await cli(["retry", id, "--again"], { cwd });
    expect(await cliJson(["show", id], { cwd })).toMatchObject({
      job: { state: "ready", generation: 2, run: 2 },
    });
  });

  it("delete removes the job, and never one that is leased", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    const waiting = await enqueued(cwd);
    expect((await cli(["delete", waiting], { cwd })).code).toBe(0);
    expect((await cli(["show", waiting], { cwd })).code).toBe(3);

    const leased = await enqueued(cwd, "slow", "--queue", "slow things");
    const worker = startCli(["work", "jobs.mjs"], { cwd });
    await worker.saw(/slow began/);
    expect((await cli(["delete", leased], { cwd })).code).toBe(5);
  });

  it("cancel reaches a running job, and revoke takes it from its owner with a higher generation", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    const id = await enqueued(cwd, "slow", "--queue", "slow things", "--lease", "1s");
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
    expect(await cliJson(["show", id], { cwd })).toMatchObject({
      job: { state: "cancelled", generation: 3 },
    });
  });
});

describe("queues", () => {
  it("are counted, paused and resumed", async () => {
    const cwd = folder();
    file(cwd, "jobs.mjs", JOBS);
    await enqueued(cwd);
    await enqueued(cwd, "note", "--delay", "1h");
    const paused = await cliJson<object[]>(["queues", "pause", "note"], { cwd });
    expect([...paused]).toEqual([{ queue: "note", paused: true }]);
    expect(await cliJson(["work", "jobs.mjs", "--drain"], { cwd })).toMatchObject({ completed: 0, exit: 0 });
    const [counts] = await cliJson<object[]>(["queues"], { cwd });
    expect(counts).toEqual({
      queue: "note",
      paused: true,
      ready: 2,
      delayed: 1,
      leased: 0,
      expired: 0,
      completed: 0,
      failed: 0,
      cancelled: 0,
    });
    expect((await cli(["queues", "resume", "note"], { cwd })).stdout).toBe("note: resumed.\n");
    expect(await cliJson(["work", "jobs.mjs", "--drain"], { cwd })).toMatchObject({ completed: 1 });
  });

  it("come with tabs between their columns away from a terminal, and take the store from before the verb too", async () => {
    const cwd = folder();
    await cli(["enqueue", "note", "--store", "other.db"], { cwd });
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
