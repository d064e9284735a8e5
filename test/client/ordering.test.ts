import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import { MAX_AFTER } from "../../src/client/ordering.ts";
import { systemWorld } from "../../src/clock/system.ts";
import { BatchSealedError, InvalidArgumentError, UnknownJobError } from "../../src/errors.ts";
import { testWorld } from "../worker/world.ts";

const { ids } = systemWorld();
const job = defineJob({ name: "job", run: () => {} });
const report = defineJob({ name: "report", run: () => "read" });

describe("after", () => {
  it("takes ids and answers, one or several, with what to do on a failure", async () => {
    const { leasehold } = testWorld();
    const first = await leasehold.enqueue(job, 1);
    const second = await leasehold.enqueue(job, 2, { after: first, onFailure: "run" });
    const third = await leasehold.enqueue(job, 3, { after: [first.jobId, second], onFailure: "fail" });
    expect((await leasehold.getMany([first, second, third])).map((view) => view?.blockedBy)).toEqual([
      0, 1, 2,
    ]);
    expect(await leasehold.waits(third)).toMatchObject({
      blockers: [
        { jobId: first.jobId, onFailure: "fail" },
        { jobId: second.jobId, onFailure: "fail" },
      ],
    });
    await leasehold.drain([job]);
    expect((await leasehold.getMany([first, second, third])).map((view) => view?.state)).toEqual([
      "completed",
      "completed",
      "completed",
    ]);
  });

  it("is never guessed about: without onFailure, or with it alone, nothing is written", async () => {
    const { leasehold, store } = testWorld();
    const jobId = ids.jobId();
    for (const options of [
      { after: jobId },
      { onFailure: "run" as const },
      { after: jobId, onFailure: "ignore" as never },
      { after: [], onFailure: "run" as const },
      { after: Array.from({ length: MAX_AFTER + 1 }, () => jobId), onFailure: "run" as const },
      { after: "not an id", onFailure: "run" as const },
      { after: jobId, onFailure: "run" as const, unique: { key: "k", onConflict: "replace" as const } },
      { after: jobId, onFailure: "run" as const, unique: { key: "k", onConflict: "followUp" as const } },
    ]) {
      await expect(
        leasehold.enqueue(job, null, options),
        JSON.stringify(options).slice(0, 99),
      ).rejects.toThrow(InvalidArgumentError);
    }
    expect(store.called("enqueue")).toBe(0);
  });

  it("names a job that is not known, before any of several calls is sent", async () => {
    const { leasehold } = testWorld();
    const unknown = ids.jobId();
    const entries = Array.from({ length: 1_500 }, () => ({ job }));
    const last = { job, after: unknown, onFailure: "run" as const };
    await expect(leasehold.enqueueMany([...entries, last])).rejects.toThrow(UnknownJobError);
    await expect(leasehold.enqueueMany([...entries, last])).rejects.toMatchObject({ jobId: unknown });
    expect(await leasehold.list()).toMatchObject({ jobs: [] });
  });

  it("reaches over the calls of one enqueueMany, also to a member that another job stands for", async () => {
    const { leasehold } = testWorld();
    const holder = await leasehold.enqueue(job, 0, { unique: { key: "k" } });
    const taken = { job, jobId: ids.jobId(), unique: { key: "k" } };
    const entries = Array.from({ length: 1_500 }, () => ({ job }));
    const answers = await leasehold.enqueueMany([
      taken,
      ...entries,
      { job, after: taken.jobId, onFailure: "fail" as const },
    ]);
    expect((await leasehold.waits(answers.at(-1)?.jobId ?? ""))?.blockers).toMatchObject([
      { jobId: holder.jobId },
    ]);
  });
});

describe("batch", () => {
  const batchOf = (name: string, then: object = { job: report, input: name }) => ({ name, then });

  it("has its `then` run once all members have ended, in however many calls they came", async () => {
    const { leasehold } = testWorld();
    const entries = Array.from({ length: 1_500 }, (_, input) => ({ job, input }));
    const answers = await leasehold.enqueueMany(entries, { batch: batchOf("b") as never });
    expect(answers).toHaveLength(1_500);
    const { thenId, ...counts } = (await leasehold.batch("b")) ?? { thenId: null };
    expect(counts).toEqual({ name: "b", total: 1_500, completed: 0, failed: 0, cancelled: 0 });
    await leasehold.drain([report]);
    expect(await leasehold.get(thenId ?? "")).toMatchObject({ state: "ready", blockedBy: 1, input: "b" });
    await leasehold.drain([job, report]);
    expect(await leasehold.result(thenId ?? "")).toBe("read");
    expect(await leasehold.batch("b")).toMatchObject({ total: 1_500, completed: 1_500 });
  });

  it("is closed by its `then`, and known by no other name", async () => {
    const { leasehold } = testWorld();
    await leasehold.enqueueMany([{ job }], { batch: "b" });
    await leasehold.enqueueMany([{ job }], { batch: batchOf("b") as never });
    await expect(leasehold.enqueueMany([{ job }], { batch: "b" })).rejects.toThrow(BatchSealedError);
    expect(await leasehold.batch("c")).toBeUndefined();
  });

  it("refuses what it cannot use, and nothing is written", async () => {
    const { leasehold, store } = testWorld();
    const single = defineJob({ name: "single", unique: () => ({ key: "k" }), run: () => {} });
    const waiting = { job, after: ids.jobId(), onFailure: "run" as const };
    for (const batch of [
      "",
      { name: "" },
      { name: "b", finally: { job } },
      batchOf("b", { job: single }),
      batchOf("b", waiting),
    ]) {
      await expect(leasehold.enqueueMany([{ job }], { batch: batch as never })).rejects.toThrow(
        InvalidArgumentError,
      );
    }
    expect(store.called("enqueue")).toBe(0);
  });
});

describe("a job that is enqueued again while it runs, with followUp (C17)", () => {
  it("runs once more with the newest input, however often and how late; each answer says which job that is", async () => {
    const t = testWorld();
    const seen: unknown[] = [];
    const answers: unknown[] = [];
    const job = defineJob({
      name: "job",
      unique: () => ({ key: "k", onConflict: "followUp" }),
      async run({ input }) {
        seen.push(input);
        if (input !== "first") return;
        for (const next of ["at its start", "in the middle", "at its end"]) {
          answers.push((await t.leasehold.enqueue(job, next)).outcome);
          await t.world.timers.sleep(100);
        }
        answers.push((await t.leasehold.enqueue(job, "the newest")).outcome);
      },
    });
    await t.leasehold.enqueue(job, "first");
    const worker = t.leasehold.work([job]);
    await t.world.advance(5_000);
    expect(seen).toEqual(["first", "the newest"]);
    expect(answers).toEqual(["enqueued", "replaced", "replaced", "replaced"]);
    expect(worker.counts).toMatchObject({ completed: 2 });
    await worker.stop();
  });
});
