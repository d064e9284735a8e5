import type { Worker } from "leasehold";
import { describe, expect, it } from "vitest";
import * as jobs from "./jobs.js";
import { gone, type IsolationWorld, isAlive, isolationWorld } from "./world.ts";

const all = Object.values(jobs);

interface Terminated {
  readonly job: { readonly id: string };
  readonly reason: string;
  readonly pid: number;
}

function terminated(worker: Worker): Promise<Terminated> {
  return new Promise((resolve) => worker.on("terminated", resolve));
}

/** The process is gone, so what stands there now is all that there will be. LEASEHOLD_SHOW=1 prints how it ended. */
async function expectSilence(t: IsolationWorld, pid: number): Promise<void> {
  expect(isAlive(pid)).toBe(false);
  const { grandchild } = t.lines()[0] as { grandchild?: number };
  if (grandchild !== undefined) await gone(grandchild);
  const lines = t.lines();
  const last = lines.findLast((line) => line.pid === pid);
  // A neighbour in another process comes and goes meanwhile, by which time a survivor would have written.
  await t.leasehold.result(await t.leasehold.enqueue(jobs.looksAround, { n: 2 }));
  expect(t.lines().length).toBe(lines.length);
  if (process.env["LEASEHOLD_SHOW"] === "1") {
    const agoMs = Date.now() - (last?.atMs ?? 0);
    console.log(`process ${pid} died at line ${last?.n}, written ${agoMs} ms ago; no line has come since`);
  }
}

describe("an isolated handler that ignores its signal (W4)", () => {
  it("is terminated after the grace when its lease was revoked, with all that it has started", async () => {
    const t = isolationWorld();
    const worker = t.leasehold.work(all, { graceMs: 100 });
    const end = terminated(worker);
    const id = await t.leasehold.enqueue(jobs.ignores, { file: t.file }, { maxAttempts: 1 });
    const { pid } = await t.firstLine();
    await t.leasehold.pauseQueue("q");
    await t.leasehold.revoke(id);
    expect(await end).toMatchObject({ reason: "revoked", pid });
    await t.leasehold.cancel(id);
    await t.leasehold.resumeQueue("q");
    await expectSilence(t, pid);
  });

  it("is terminated at maxRunMs and the grace, though it blocks its loop, and that is a failed attempt", async () => {
    const t = isolationWorld();
    const worker = t.leasehold.work(all, { graceMs: 100 });
    const end = terminated(worker);
    const id = await t.leasehold.enqueue(jobs.blocks, { file: t.file }, { maxRunMs: 4_000, maxAttempts: 1 });
    const { pid } = await t.firstLine();
    expect(await end).toMatchObject({ reason: "max_run", pid });
    await expect(t.leasehold.result(id)).rejects.toThrow("was terminated");
    // Renewals reach a handler that gives its loop no turn.
    expect(new Set(t.lines().map(({ state }) => state))).toEqual(new Set(["held"]));
    await expectSilence(t, pid);
  });

  it("is terminated when it was cancelled, and the job has ended as cancelled", async () => {
    const t = isolationWorld();
    const end = terminated(t.leasehold.work(all, { graceMs: 100 }));
    const id = await t.leasehold.enqueue(jobs.blocks, { file: t.file });
    const { pid } = await t.firstLine();
    await t.leasehold.cancel(id);
    expect(await end).toMatchObject({ reason: "cancelled", pid });
    await expect(t.leasehold.result(id)).rejects.toThrow("cancelled");
  });
});

describe("an isolated handler that obeys its signal", () => {
  it("hears the reason, and its process is not used again", async () => {
    const t = isolationWorld();
    t.leasehold.work(all);
    const id = await t.leasehold.enqueue(jobs.obeys, { file: t.file });
    const { pid } = await t.firstLine();
    await t.leasehold.cancel(id);
    await expect(t.leasehold.result(id)).rejects.toThrow("cancelled");
    expect(t.lines()[1]).toEqual({ pid, reason: "cancelled" });
    expect(isAlive(pid)).toBe(false);
  });
});

describe("stopping (W6)", () => {
  it("lets isolated handlers finish, and ends their processes", async () => {
    const t = isolationWorld();
    const worker = t.leasehold.work(all);
    const begun = new Promise((resolve) => worker.on("started", resolve));
    const seen = t.leasehold.result(await t.leasehold.enqueue(jobs.looksAround, { n: 1 }));
    await begun;
    await worker.stop();
    expect(worker.counts).toMatchObject({ completed: 1, released: 0 });
    expect(isAlive(((await seen) as { pid: number }).pid)).toBe(false);
  });

  it("terminates those that do not, and gives their jobs back with the attempt", async () => {
    const t = isolationWorld();
    const worker = t.leasehold.work(all);
    const end = terminated(worker);
    const id = await t.leasehold.enqueue(jobs.blocks, { file: t.file });
    const { pid } = await t.firstLine();
    await worker.stop({ graceMs: 0 });
    expect(await end).toMatchObject({ reason: "shutdown", pid });
    expect(isAlive(pid)).toBe(false);
    expect(worker.counts).toMatchObject({ released: 1, failed: 0 });
    expect(await t.leasehold.get(id)).toMatchObject({ state: "ready", attempt: 0 });
  });
});

describe("a worker that is gone", () => {
  it.each(["blocks", "ignores"] as const)(
    "takes a handler that %s with it, killed as it was",
    async (name) => {
      const t = isolationWorld();
      const worker = t.worker(60_000);
      await t.leasehold.enqueue(
        name === "blocks" ? jobs.blocks : jobs.ignores,
        { file: t.file },
        { leaseMs: 3_600_000 },
      );
      const { pid, grandchild } = await t.firstLine();
      await worker.kill();
      await gone(pid);
      if (grandchild !== undefined) await gone(grandchild);
    },
  );

  it("or frozen for longer than lease and grace finds that its isolated handler has ended itself", async () => {
    const t = isolationWorld();
    const worker = t.worker(200);
    await t.leasehold.enqueue(jobs.blocks, { file: t.file }, { leaseMs: 1_500 });
    const { pid } = await t.firstLine();
    worker.process.kill("SIGSTOP");
    try {
      const lastSeen = await lastLine(t, pid);
      expect(worker.all("terminated")).toEqual([]);
      // Trust has ended before the lease did, and the process lived for no longer than the grace after that.
      expect(lastSeen.state).toBe("ended");
    } finally {
      worker.process.kill("SIGCONT");
    }
    expect(await worker.tells("terminated")).toEqual({ reason: "lease_expired", pid });
  });
});

/** A zombie as long as its worker is frozen, so its end shows in what it does not write any more: it writes every 5 ms. */
async function lastLine(t: IsolationWorld, pid: number): Promise<{ readonly state?: string }> {
  const { readFileSync } = await import("node:fs");
  const { eventually } = await import("../../support/eventually.ts");
  await eventually("the process to have ended", () => {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return / [ZX] /.test(stat.slice(stat.lastIndexOf(")")));
  });
  return t.lines().at(-1) as { readonly state?: string };
}
