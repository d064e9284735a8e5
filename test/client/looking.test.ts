import { describe, expect, it } from "vitest";
import { defineJob, type JobDefinition } from "../../src/client/define-job.ts";
import { GoneError, InvalidArgumentError, JobNotCompletedError, WaitTimeoutError } from "../../src/errors.ts";
import { gate, testWorld } from "../worker/world.ts";

const job = defineJob({ name: "job", run: () => "done" });
const NOBODY = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11";

describe("looking", () => {
  it("gives a job with its values parsed, by id or by the answer of enqueue", async () => {
    const { leasehold } = testWorld();
    const answer = await leasehold.enqueue(job, { deep: [1] });
    await leasehold.drain([job]);
    const view = await leasehold.get(answer);
    expect(view).toMatchObject({
      jobId: answer.jobId,
      state: "completed",
      input: { deep: [1] },
      result: "done",
    });
    expect(await leasehold.get(answer.jobId)).toEqual(view);
    expect(await leasehold.getMany([NOBODY, answer])).toEqual([undefined, view]);
  });

  it("lists newest first, filtered, page by page without a gap or a repetition", async () => {
    const { leasehold } = testWorld();
    const other = defineJob({ name: "other", run: () => {} });
    for (let input = 0; input < 25; input++)
      await leasehold.enqueue((input % 5 === 0 ? other : job) as JobDefinition, input);
    const seen: unknown[] = [];
    let before: number | undefined;
    do {
      const page = await leasehold.list(
        { name: "job" },
        before === undefined ? { limit: 7 } : { limit: 7, before },
      );
      seen.push(...page.jobs.map(({ input }) => input));
      before = page.before;
    } while (before !== undefined);
    expect(seen).toEqual(Array.from({ length: 25 }, (_, i) => 24 - i).filter((i) => i % 5 !== 0));
  });

  it("counts jobs by queue and state", async () => {
    const { leasehold } = testWorld();
    await leasehold.enqueueMany([{ job }, { job, delayMs: 1_000 }]);
    await leasehold.drain([job]);
    expect(await leasehold.counts()).toMatchObject([
      { queue: "job", ready: 1, delayed: 1, completed: 1, leased: 0 },
    ]);
  });

  it("tells the journal of a job or of a line", async () => {
    const { leasehold } = testWorld();
    const answer = await leasehold.enqueue(job);
    await leasehold.drain([job]);
    await leasehold.withLease("report", {}, () => {});
    const kinds = (await leasehold.journal(answer)).map(({ kind }) => kind);
    expect(kinds).toEqual(["enqueued", "claimed", "completed"]);
    expect(await leasehold.journal(`job:${answer.jobId}`)).toEqual(await leasehold.journal(answer.jobId));
    expect((await leasehold.journal("lease:report")).length).toBeGreaterThan(0);
    await expect(leasehold.journal("lease:")).rejects.toBeInstanceOf(InvalidArgumentError);
    await expect(leasehold.journal("report")).rejects.toBeInstanceOf(InvalidArgumentError);
  });
});

describe("result", () => {
  it("waits until the job has ended, here or elsewhere", async () => {
    const { leasehold, world, another } = testWorld();
    const answer = await leasehold.enqueue(job);
    const waiting = leasehold.result(answer);
    await world.advance(3_000);
    const worker = another().work([job]);
    await world.advance(600);
    expect(await waiting).toBe("done");
    await worker.stop();
    expect(world.pendingTimers).toBe(0);
  });

  it("of a job that ends in this process comes without waiting for a poll", async () => {
    const { leasehold, world } = testWorld();
    const hold = gate<string>();
    const slow = defineJob({ name: "slow", run: () => hold.promise });
    const answer = await leasehold.enqueue(slow);
    const worker = leasehold.work([slow]);
    const waiting = leasehold.result(answer);
    await world.advance(60_000);
    hold.open("now");
    await world.settle();
    expect(await waiting).toBe("now");
    await worker.stop();
  });

  it("is undefined for a job that returned nothing", async () => {
    const { leasehold } = testWorld();
    const quiet = defineJob({ name: "quiet", run: () => {} });
    const answer = await leasehold.enqueue(quiet);
    await leasehold.drain([quiet]);
    expect(await leasehold.result(answer)).toBeUndefined();
  });

  it("rejects for a job that failed, was cancelled, or is not there", async () => {
    const { leasehold } = testWorld();
    const answer = await leasehold.enqueue(job);
    await leasehold.cancel(answer);
    await expect(leasehold.result(answer)).rejects.toBeInstanceOf(JobNotCompletedError);
    await expect(leasehold.result(NOBODY)).rejects.toBeInstanceOf(GoneError);
    await expect(leasehold.result("no id")).rejects.toBeInstanceOf(InvalidArgumentError);
  });

  it("stops waiting after timeoutMs, or when its signal fires, and leaves no timer", async () => {
    const { leasehold, world } = testWorld();
    const answer = await leasehold.enqueue(job);
    const timed = expect(leasehold.result(answer, { timeoutMs: 2_000 })).rejects.toBeInstanceOf(
      WaitTimeoutError,
    );
    const over = new AbortController();
    const aborted = expect(leasehold.result(answer, { signal: over.signal })).rejects.toThrow("enough");
    await world.advance(1_000);
    over.abort(new Error("enough"));
    await aborted;
    await world.advance(1_000);
    await timed;
    expect(world.pendingTimers).toBe(0);
  });

  it("of a hundred jobs is asked for in shared calls", async () => {
    const { leasehold, world, store } = testWorld();
    const answers = await leasehold.enqueueMany(Array.from({ length: 100 }, () => ({ job })));
    const waiting = Promise.all(answers.map((answer) => leasehold.result(answer)));
    await world.advance(100);
    expect(store.called("get")).toBeLessThan(10);
    await leasehold.drain([job]);
    await world.advance(600);
    expect(new Set(await waiting)).toEqual(new Set(["done"]));
  });
});

describe("acting", () => {
  it("cancels, retries and deletes one job or several, an answer for each", async () => {
    const { leasehold } = testWorld();
    const [a, b] = await leasehold.enqueueMany([{ job }, { job }]);
    expect(await leasehold.cancel(a!)).toMatchObject({
      outcome: "applied",
      state: "cancelled",
      pending: false,
    });
    expect(await leasehold.cancel([a!, b!, NOBODY])).toMatchObject([
      { outcome: "already" },
      { outcome: "applied" },
      { outcome: "gone" },
    ]);
    expect(await leasehold.retry(a!)).toMatchObject({ outcome: "applied", state: "ready", generation: 1 });
    expect(await leasehold.retry(a!.jobId)).toMatchObject({ outcome: "conflict" });
    expect(await leasehold.drain([job])).toMatchObject({ completed: 1 });
    expect(await leasehold.retry(a!, { again: true })).toMatchObject({ outcome: "applied" });
    expect(await leasehold.get(a!)).toMatchObject({ run: 2, attempt: 0 });
    expect(await leasehold.delete([a!, b!])).toMatchObject([{ outcome: "applied" }, { outcome: "applied" }]);
    expect(await leasehold.get(a!)).toBeUndefined();
  });

  it("revokes a running job and gives the token that its destinations may be told", async () => {
    const { leasehold, world } = testWorld();
    const hold = gate();
    const slow = defineJob({ name: "slow", run: () => hold.promise });
    const answer = await leasehold.enqueue(slow);
    const worker = leasehold.work([slow]);
    await world.settle();
    expect(await leasehold.revoke(answer)).toMatchObject({
      outcome: "applied",
      token: { line: `job:${answer.jobId}`, generation: 2 },
    });
    hold.open();
    await worker.stop();
  });
});
