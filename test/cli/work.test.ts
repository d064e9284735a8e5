import { describe, expect, it } from "vitest";
import { cli, enqueued, file, folder, JOBS, startCli, withStore } from "./support.ts";

function world(): string {
  const cwd = folder();
  file(cwd, "jobs.mjs", JOBS);
  return cwd;
}

describe("work", () => {
  it("runs jobs as they come, and ends with 143 at SIGTERM", async () => {
    const cwd = world();
    const worker = startCli(["work", "jobs.mjs", "--json"], { cwd });
    await worker.saw(/working on broken, note, slow in sqlite .*leasehold\.db, 10 at a time/);
    await enqueued(cwd, "note", "a");
    await worker.saw(/^ran a /m);
    await enqueued(cwd, "note", "b");
    await worker.saw(/^ran b /m);
    worker.child.kill("SIGTERM");
    const { code, stdout } = await worker.ended;
    expect(code).toBe(143);
    expect(JSON.parse(stdout)).toMatchObject({ completed: 2, failed: 0 });
  });

  it("gives back what runs at the second signal", async () => {
    const cwd = world();
    const id = await enqueued(cwd, "slow", null, { queue: "slow things" });
    const worker = startCli(["work", "jobs.mjs"], { cwd });
    await worker.saw(/slow began/);
    worker.child.kill("SIGINT");
    await worker.saw(/finishing the running jobs; once more/);
    worker.child.kill("SIGINT");
    const { code, stdout } = await worker.ended;
    expect(stdout).toMatch(/released 1/);
    expect(code).toBe(130);
    expect(await withStore(cwd, (leasehold) => leasehold.get(id))).toMatchObject({
      state: "ready",
      attempt: 0,
    });
  });

  it("--drain ends when nothing is due, with 1 if a job failed", async () => {
    const cwd = world();
    const args = ["work", "jobs.mjs", "--drain"];
    await enqueued(cwd, "note", 1);
    await enqueued(cwd, "note", 2, { delayMs: 3_600_000 });
    expect(await cli(args, { cwd })).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/completed 1, failed 0/),
    });
    await enqueued(cwd, "broken");
    expect(await cli(args, { cwd })).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/completed 0, failed 1/),
    });
  });

  it("--queues leaves the other queues alone", async () => {
    const cwd = world();
    await enqueued(cwd, "note", 1);
    await enqueued(cwd, "note", 2, { queue: "side" });
    const args = ["work", "jobs.mjs", "--drain", "--queues", "side, none"];
    expect(await cli(args, { cwd })).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ran 2 /m) });
    const { jobs } = await withStore(cwd, (leasehold) => leasehold.list({ states: ["ready"] }));
    expect(jobs).toMatchObject([{ input: 1 }]);
  });
});
