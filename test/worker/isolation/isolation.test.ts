import { defineJob, InvalidArgumentError, type Worker } from "leasehold";
import { describe, expect, it } from "vitest";
import * as jobs from "./jobs.js";
import { gone, isolationWorld } from "./world.ts";

const all = Object.values(jobs);

function happened(worker: Worker, name: "terminated" | "failed" | "released" | "aborted"): Promise<never> {
  return new Promise((resolve) => worker.on(name, (event) => resolve(event as never)));
}

describe("an isolated job", () => {
  it("has the same context as any other, in another process", async () => {
    const t = isolationWorld();
    const worker = t.leasehold.work(all);
    const id = await t.leasehold.enqueue(jobs.looksAround, { n: 1 });
    const seen = (await t.leasehold.result(id)) as Record<string, unknown>;
    const view = await t.leasehold.get(id);
    expect(seen).toMatchObject({
      input: { n: 1 },
      job: { name: "looks around", queue: "q", attempt: 1, maxAttempts: 10, run: 1, previous: null },
      lease: {
        token: { line: `job:${id.jobId}`, generation: 1, owner: worker.owner },
        state: "held",
        effectScope: `job:${id.jobId}/1`,
      },
      signal: true,
    });
    expect(seen["pid"]).not.toBe(process.pid);
    expect(view).toMatchObject({ progress: { at: "half" } });
    expect((await t.leasehold.journal(id)).map((entry) => JSON.stringify(entry)).join()).toContain("a line");
  });

  it("finds its process again in the next run, and after a while of idleness the process ends", async () => {
    const t = isolationWorld();
    t.leasehold.work(all, { isolation: { idleMs: 300 } });
    const pidOf = async () =>
      ((await t.leasehold.result(await t.leasehold.enqueue(jobs.looksAround, { n: 1 }))) as { pid: number })
        .pid;
    const pid = await pidOf();
    expect(await pidOf()).toBe(pid);
    await gone(pid);
    expect(await pidOf()).not.toBe(pid);
  });

  it("keeps its steps over the death of its process", async () => {
    const t = isolationWorld();
    t.leasehold.work(all);
    const id = await t.leasehold.enqueue(jobs.steps, { file: t.file });
    const { first, second } = (await t.leasehold.result(id)) as { first: number; second: number };
    expect(first).not.toBe(second);
    expect(await t.leasehold.get(id)).toMatchObject({ state: "completed", attempt: 2 });
    expect(await t.leasehold.steps(id)).toMatchObject([
      { step: "first", state: "done", result: first },
      { step: "second", state: "done", result: second },
    ]);
  });

  it("has what it throws arrive as an error: stored, told, and final when it says so", async () => {
    const t = isolationWorld();
    const worker = t.leasehold.work(all);
    const errors: unknown[] = [];
    worker.on("failed", ({ error }) => errors.push(error));
    for (const [input, attempts] of [
      ["error", 2],
      ["final", 1],
      ["text", 2],
    ] as const) {
      const id = await t.leasehold.enqueue(jobs.throws, input);
      await expect(t.leasehold.result(id)).rejects.toThrow("ended as failed");
      expect(await t.leasehold.get(id)).toMatchObject({ attempt: attempts });
    }
    expect(errors[0]).toMatchObject({ name: "TypeError", message: "not so", code: "E_NOT_SO", seen: 3 });
    expect((errors[0] as Error).stack).toContain("jobs.js");
    expect(errors[1]).toMatchObject({ code: "LH_FINAL", message: "for good", cause: { name: "RangeError" } });
    expect(errors[2]).toBe("a text");
  });

  it("cannot complete in its store's transaction, and is told what to do instead", async () => {
    const t = isolationWorld();
    const worker = t.leasehold.work(all);
    const failed = happened(worker, "failed");
    await t.leasehold.enqueue(jobs.completes, null);
    expect(await failed).toMatchObject({ error: { code: "LH_ISOLATED_COMPLETION" } });
  });

  it("of which its module knows nothing is a failed attempt that says so", async () => {
    const t = isolationWorld();
    const { module } = jobs.obeys;
    const stranger = defineJob({
      name: "stranger",
      isolation: "process",
      module: module as string,
      maxAttempts: 1,
      run() {},
    });
    const failed = happened(t.leasehold.work([stranger]), "failed");
    await t.leasehold.enqueue(stranger);
    expect(await failed).toMatchObject({ error: { code: "LH_JOB_MODULE" } });
  });

  it("names a module that is there, or no worker begins", () => {
    const t = isolationWorld();
    const run = (): void => {};
    const isolation = "process";
    expect(() => defineJob({ name: "a", isolation, run })).toThrow(InvalidArgumentError);
    expect(() => defineJob({ name: "a", isolation, module: "./jobs.js", run })).toThrow("import.meta.url");
    const absent = defineJob({ name: "a", isolation, module: "file:///no/such/file.js", run });
    expect(() => t.leasehold.work([absent])).toThrow(expect.objectContaining({ code: "LH_JOB_MODULE" }));
  });
});

describe("the death of an isolated process", () => {
  it.each([
    ["exit", { exitCode: 0, signal: null }],
    ["kill", { exitCode: null, signal: "SIGKILL" }],
    ["throw", { exitCode: 1, cause: { message: "outside the handler" } }],
    ["memory", { signal: "SIGABRT" }],
  ] as const)("by %s is one failed attempt, and its neighbours complete", async (how, error) => {
    const t = isolationWorld();
    const worker = t.leasehold.work(all, { isolation: { execArgv: ["--max-old-space-size=32"] } });
    const neighbours = await Promise.all([1, 2].map(() => t.leasehold.enqueue(jobs.waits, { file: t.file })));
    const failed = happened(worker, "failed");
    await t.leasehold.enqueue(jobs.dies, how);
    expect(await failed).toMatchObject({ error: { code: "LH_PROCESS_DIED", ...error } });
    await t.leasehold.result(await t.leasehold.enqueue(jobs.looksAround, { n: 1 }));
    (await import("node:fs")).writeFileSync(t.file, "");
    const pids = await Promise.all(neighbours.map((id) => t.leasehold.result(id)));
    expect(new Set(pids).size).toBe(2);
    for (const id of neighbours) expect(await t.leasehold.get(id)).toMatchObject({ attempt: 1 });
  });
});

describe("a suspect whose module is known (W8)", () => {
  it("runs in a process of its own, beside others", async () => {
    const t = isolationWorld();
    const id = await t.leasehold.enqueue(jobs.suspected, null, { maxAttempts: 2 });
    const plain = t.leasehold.work([jobs.suspected]);
    const other = await t.leasehold.enqueue(jobs.suspected);
    expect(await t.leasehold.result(id)).toBe(process.pid);
    expect(await t.leasehold.result(other)).toBe(process.pid);
    await plain.stop();
    const late = await t.leasehold.enqueue(jobs.suspected, null, { maxAttempts: 2 });
    const { store } = t.leasehold;
    const claim = { owner: plain.owner, queues: ["q"], limit: 1, takeover: true };
    expect((await store.claim(claim, { timeoutMs: 5_000 })).jobs).toHaveLength(1);
    t.leasehold.work([jobs.suspected]);
    expect(await t.leasehold.result(late)).not.toBe(process.pid);
    expect(await t.leasehold.get(late)).toMatchObject({ attempt: 2, state: "completed" });
  });
});
