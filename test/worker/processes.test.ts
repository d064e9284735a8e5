import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { Leasehold } from "../../src/client/leasehold.ts";
import { sqlite } from "../../src/stores/sqlite/index.ts";
import { Child } from "../support/child.ts";

const open: { close(): unknown }[] = [];

function setUp(): { readonly path: string; readonly leasehold: Leasehold } {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-"));
  const path = join(folder, "test.db");
  const leasehold = new Leasehold({ store: sqlite(path), log: () => {} });
  open.push({ close: () => leasehold.close() }, { close: () => rmSync(folder, { recursive: true }) });
  return { path, leasehold };
}

/** A process of test/worker/processes/. */
function start(script: string, ...args: (string | number)[]): Child {
  const child = new Child(fileURLToPath(new URL(`processes/${script}.js`, import.meta.url)), args);
  open.unshift({ close: () => child.kill() });
  return child;
}

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

describe("the renewer thread (W2)", () => {
  const leaseMs = 1_000;
  const rival = defineJob({ name: "blocker", run: () => "the rival's" });

  it("keeps the lease of a handler that blocks the loop for three leases", async () => {
    const { path, leasehold } = setUp();
    const answer = await leasehold.enqueue(rival, null, { leaseMs });
    const blocker = start("blocker", path, 3 * leaseMs, 60_000);
    await blocker.tells("blocking");
    leasehold.work([rival], { renewer: "inline" });
    expect(await blocker.tells("unblocked")).toBe("held");
    expect(await leasehold.result(answer)).toBe("the blocker's");
    expect(await leasehold.get(answer)).toMatchObject({ attempt: 1, generation: 1 });
    expect(await blocker.exited).toBe(0);
  });

  it("lets the leases of a process lapse whose loop is silent for longer than maxBlockedMs", async () => {
    const { path, leasehold } = setUp();
    // Long enough for a thread that starts on a busy machine: the process must first have been seen to renew.
    const longMs = 2 * leaseMs;
    const answer = await leasehold.enqueue(rival, null, { leaseMs: longMs });
    const blocker = start("blocker", path, 4 * longMs, longMs / 2);
    await blocker.tells("blocking");
    leasehold.work([rival], { renewer: "inline" });
    expect(await leasehold.result(answer)).toBe("the rival's");
    expect(blocker.told.some(({ what }) => what === "unblocked")).toBe(false);
    expect(await blocker.tells("unblocked")).toBe("ended");
    await blocker.tells("lost");
    expect(await leasehold.get(answer)).toMatchObject({
      state: "completed",
      generation: 2,
      result: "the rival's",
    });
    expect(await blocker.exited).toBe(0);
  });

  it("that cannot start is replaced by renewal on the main loop, and the log says so", async () => {
    const { path } = setUp();
    const threadless = start("threadless", path);
    expect(await threadless.tells("log")).toBe("renewal_inline");
    expect(await threadless.tells("result")).toBe("renewed");
    expect(await threadless.exited).toBe(0);
  });
});

describe("a process", () => {
  it("that a handler ends costs its neighbours a run, and nothing else", async () => {
    const { path, leasehold } = setUp();
    const slow = defineJob({ name: "slow", queue: "q", run: () => "slow, but done" });
    const quit = defineJob({ name: "quit", queue: "q", run: () => "stays this time" });
    const options = { leaseMs: 1_000 };
    const answers = await leasehold.enqueueMany([slow, slow, slow, quit].map((job) => ({ job, ...options })));
    const quitter = start("quitter", path);
    expect(await quitter.exited).toBe(3);
    leasehold.work([slow, quit], { renewer: "inline" });
    const results = await Promise.all(answers.map((answer) => leasehold.result(answer)));
    expect(results).toEqual(["slow, but done", "slow, but done", "slow, but done", "stays this time"]);
    for (const view of await leasehold.getMany(answers))
      expect(view).toMatchObject({ attempt: 2, generation: 2 });
  });

  it("that is stopped under load leaves no lease and loses no job (W6)", async () => {
    const { path, leasehold } = setUp();
    const job = defineJob({ name: "job", run: () => {} });
    await leasehold.enqueueMany(Array.from({ length: 5_000 }, () => ({ job })));
    const stopper = start("stopper", path);
    await stopper.tells("busy");
    stopper.process.kill("SIGTERM");
    const counts = (await stopper.tells("stopped")) as { readonly completed: number };
    expect(await stopper.exited).toBe(0);
    const [queue] = await leasehold.counts();
    expect(queue).toMatchObject({ leased: 0, failed: 0, completed: counts.completed });
    expect(queue!.ready + queue!.completed).toBe(5_000);
    const { jobs } = await leasehold.list({ states: ["ready"] }, { limit: 1_000 });
    expect(new Set(jobs.map(({ attempt }) => attempt))).toEqual(new Set([0]));
  });
});

describe("a limited queue", () => {
  it("has its slots back when the workers that held the last of them were killed", async () => {
    const leaseMs = 1_000;
    const { path, leasehold } = setUp();
    let begun = 0;
    let bothBegun!: () => void;
    const both = new Promise<void>((resolve) => {
      bothBegun = resolve;
    });
    const mail = defineJob({
      name: "mail",
      leaseMs,
      async run() {
        if (++begun === 2) bothBegun();
        await both;
      },
    });
    await leasehold.limitQueue("mail", { concurrency: 2 });
    const jobs = await leasehold.enqueueMany(Array.from({ length: 4 }, () => ({ job: mail })));
    const holders = [start("holder", path), start("holder", path)];
    for (const holder of holders) await holder.tells("begun");
    expect((await leasehold.counts())[0]).toMatchObject({ leased: 2, ready: 2 });

    for (const holder of holders) holder.kill();
    const killedMs = performance.now();
    leasehold.work([mail], { concurrency: 4, renewer: "inline" });
    await both;
    const tookMs = Math.round(performance.now() - killedMs);
    if (process.env["LEASEHOLD_SHOW"] === "1") {
      process.stdout.write(
        `Both slots were free ${tookMs} ms after their owners were killed; leases of ${leaseMs} ms\n`,
      );
    }
    const ids = jobs.map(({ jobId }) => jobId);
    for (const id of ids) await leasehold.result(id);
    const ended = await leasehold.getMany(ids);
    expect(ended.map((job) => job?.attempt).sort()).toEqual([1, 1, 2, 2]);
  });
});
