import { describe, expect, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import type { Step } from "../../src/client/step.ts";
import {
  InvalidArgumentError,
  LeaseEndedError,
  LeaseNotTrustedError,
  StaleLeaseError,
  StepRepeatedError,
  StepUnknownError,
  UnknownOutcomeError,
  UnstorableValueError,
} from "../../src/errors.ts";
import { gate, type TestWorld, testWorld } from "./world.ts";

const NOW = { backoff: { kind: "fixed", baseMs: 0, jitter: "none" } } as const;

describe("a step", () => {
  it("is not run again by a later attempt, which gets the first result, through JSON, back", async () => {
    const { leasehold, store } = testWorld();
    const calls: string[] = [];
    const seen: unknown[] = [];
    const job = defineJob({
      name: "job",
      ...NOW,
      async run({ step, job }) {
        seen.push(
          await step("charge", ({ key }) => {
            calls.push(key);
            return { at: 1, gone: undefined };
          }),
          await step("nothing", () => void calls.push("nothing")),
        );
        if (job.attempt === 1) throw new Error("after both");
      },
    });
    const { jobId } = await leasehold.enqueue(job);
    expect(await leasehold.drain([job])).toMatchObject({ completed: 1, retried: 1 });
    expect(calls).toEqual([`job:${jobId}/1/charge`, "nothing"]);
    expect(seen).toEqual([{ at: 1 }, undefined, { at: 1 }, undefined]);
    expect(Object.keys(seen[0] as object)).toEqual(["at"]);
    expect(await leasehold.steps(jobId)).toMatchObject([
      { step: "charge", state: "done", attempt: 1, result: { at: 1 }, key: `job:${jobId}/1/charge` },
      { step: "nothing", state: "done", attempt: 1, result: undefined },
    ]);
    expect(store.called("steps"), "the first attempt reads nothing").toBe(2);
  });

  it("costs a job without steps no call, a first attempt two writes, and one where it may be repeated", async () => {
    const { leasehold, store } = testWorld();
    const none = defineJob({ name: "none", async run() {} });
    const strict = defineJob({
      name: "strict",
      async run({ step }) {
        await step("one", () => 1);
        await step("two", () => 2);
      },
    });
    const repeatable = defineJob({
      name: "repeatable",
      async run({ step }) {
        await step("one", { onUnknown: "run" }, () => 1);
        await step("two", { onUnknown: "run" }, () => 2);
      },
    });
    const calls: [number, number][] = [];
    for (const job of [none, strict, repeatable]) {
      const before = [store.called("write"), store.called("steps")] as const;
      await leasehold.enqueue(job);
      await leasehold.drain([job]);
      calls.push([store.called("write") - before[0], store.called("steps") - before[1]]);
    }
    expect(calls).toEqual([
      [0, 0],
      [4, 0],
      [2, 1],
    ]);
  });

  it("runs side by side with others, whose records share a call", async () => {
    const { leasehold, store } = testWorld();
    const job = defineJob({
      name: "job",
      run: ({ step }) => Promise.all([1, 2, 3].map((n) => step(`page ${n}`, () => n * 10))),
    });
    const answer = await leasehold.enqueue(job);
    await leasehold.drain([job]);
    expect(await leasehold.result(answer)).toEqual([10, 20, 30]);
    expect(store.called("write")).toBe(2);
  });

  it("is refused when its name stood for another one, cannot be a key, or there are too many", async () => {
    const thrown = await thrownBy(async (step) => {
      const errors: unknown[] = [];
      const note = (error: unknown): unknown => errors.push(error);
      await step("a", () => 1);
      await step("a", () => 2).catch(note);
      await step("", () => 3).catch(note);
      await step("line\nbreak", () => 3).catch(note);
      await step("b", { onUnkown: "run" } as never, () => 3).catch(note);
      await step("c", { onUnknown: "again" } as never, () => 3).catch(note);
      await step("d", 7 as never).catch(note);
      for (let n = 0; n < 999; n++) await step(`n ${n}`, { onUnknown: "run" }, () => n);
      await step("one more", () => 3).catch(note);
      return errors;
    });
    expect((thrown as unknown[]).map((error) => (error as Error).constructor)).toEqual([
      StepRepeatedError,
      ...Array.from({ length: 6 }, () => InvalidArgumentError),
    ]);
  });

  it("whose function throws is run again by the next attempt, and its failure can be read meanwhile", async () => {
    const { leasehold } = testWorld();
    let calls = 0;
    const job = defineJob({
      name: "job",
      backoff: { kind: "fixed", baseMs: 60_000, jitter: "none" },
      run: ({ step }) =>
        step("send", () => {
          if (calls++ === 0) throw new TypeError("no stamp");
          return "sent";
        }),
    });
    const answer = await leasehold.enqueue(job);
    await leasehold.drain([job]);
    expect(await leasehold.steps(answer)).toMatchObject([
      { step: "send", state: "failed", error: { name: "TypeError", message: "no stamp" } },
    ]);
    await leasehold.cancel(answer);
    await leasehold.retry(answer);
    expect(await leasehold.drain([job])).toMatchObject({ completed: 1 });
    expect(await leasehold.result(answer)).toBe("sent");
    expect(calls).toBe(2);
  });

  it("whose result cannot be kept stays unknown, as it has happened", async () => {
    const { leasehold } = testWorld();
    let calls = 0;
    const job = defineJob({ name: "job", ...NOW, run: ({ step }) => step("big", () => BigInt(++calls)) });
    const answer = await leasehold.enqueue(job);
    expect(await leasehold.drain([job])).toMatchObject({ retried: 1, failed: 1 });
    expect(calls).toBe(1);
    expect(await leasehold.get(answer)).toMatchObject({ error: { name: "StepUnknownError" } });
    expect(await thrownBy((step) => step("big", () => 1n).catch((error) => error))).toBeInstanceOf(
      UnstorableValueError,
    );
  });

  it("does not begin once the signal has fired, or while the lease is not trusted", async () => {
    const { leasehold, world } = testWorld();
    const [hold, drifted] = [gate(), gate()];
    const thrown: unknown[] = [];
    let began = 0;
    const job = defineJob({
      name: "job",
      async run({ step }) {
        await hold.promise;
        await step("unknown", () => began++).catch((error) => thrown.push(error));
        await drifted.promise;
        await step("aborted", () => began++).catch((error) => thrown.push(error));
      },
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job], { renewer: "inline" });
    await world.settle();
    world.stepWall(3_600_000);
    hold.open();
    await Promise.resolve();
    await world.settle();
    await leasehold.cancel(answer);
    await world.advance(30_000);
    drifted.open();
    await world.settle();
    expect(thrown.map((error) => (error as Error).constructor)).toEqual([
      LeaseNotTrustedError,
      LeaseEndedError,
    ]);
    expect(began).toBe(0);
    await worker.stop();
  });

  it("that the handler does not wait for is waited for, and what it throws fails the run", async () => {
    const { leasehold, world } = testWorld();
    const hold = gate();
    const job = defineJob({
      name: "job",
      maxAttempts: 1,
      async run({ step }) {
        void step("late", () => hold.promise);
        return "early";
      },
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.settle();
    expect(await leasehold.get(answer)).toMatchObject({ state: "leased" });
    hold.fail(new Error("late and loud"));
    await world.settle();
    expect(await leasehold.get(answer)).toMatchObject({
      state: "failed",
      error: { message: "late and loud" },
    });
    await worker.stop();
  });
});

describe("a step that another attempt began", () => {
  it("is met as unknown, fails the job for good, and waits for what a person finds out", async () => {
    const world = testWorld();
    const { leasehold } = world;
    const seen: unknown[] = [];
    const job = defineJob({
      name: "job",
      async run({ step }) {
        seen.push(await step("address", () => "first"));
        seen.push(await step("charge", () => "run"));
      },
    });
    const jobId = await diesInStep(world, ["address"], "charge");
    expect(await leasehold.steps(jobId)).toMatchObject([{ state: "done" }, { state: "begun" }]);
    const events: unknown[] = [];
    const worker = leasehold.work([job]);
    worker.on("failed", ({ error }) => events.push(error));
    await world.world.advance(60_000);
    expect(events).toEqual([expect.any(StepUnknownError)]);
    expect((events[0] as StepUnknownError).begun).toMatchObject({
      jobId,
      run: 1,
      step: "charge",
      key: `job:${jobId}/1/charge`,
      attempt: 1,
      generation: 1,
    });
    expect(seen).toEqual(["stored by the dead"]);
    expect(await leasehold.get(jobId)).toMatchObject({ state: "failed", endReason: "final" });
    expect(await leasehold.steps(jobId)).toMatchObject([{ state: "done" }, { state: "unknown" }]);

    // Retrying alone does not make it known.
    await leasehold.retry(jobId);
    await world.world.settle();
    expect(events).toHaveLength(2);
    expect(await leasehold.resolveStep(jobId, "charge", { done: true, result: "by hand" })).toEqual({
      outcome: "applied",
    });
    await leasehold.retry(jobId);
    await world.world.settle();
    expect(await leasehold.get(jobId)).toMatchObject({ state: "completed" });
    expect(seen.at(-1)).toBe("by hand");
    await worker.stop();
  });

  it("is run again when it may be, with the same key", async () => {
    const world = testWorld();
    const keys: string[] = [];
    const jobId = await diesInStep(world, [], "charge");
    await ended(world, (step) => step("charge", { onUnknown: "run" }, ({ key }) => keys.push(key)));
    expect(keys).toEqual([`job:${jobId}/1/charge`]);
  });

  it("is asked for at its destination, whose answer becomes its result, or run again at its word", async () => {
    for (const found of ["had happened", undefined]) {
      const world = testWorld();
      const jobId = await diesInStep(world, [], "charge");
      let calls = 0;
      const result = await ended(world, (step) =>
        step(
          "charge",
          { onUnknown: async ({ key }, run) => (key === `job:${jobId}/1/charge` && found) || run() },
          () => `run ${++calls}`,
        ),
      );
      expect(result).toBe(found ?? "run 1");
      expect(await world.leasehold.steps(jobId)).toMatchObject([{ state: "done", attempt: 2, result }]);
    }
  });

  it("stays unknown when its destination cannot be asked", async () => {
    const world = testWorld();
    const { leasehold } = world;
    const jobId = await diesInStep(world, [], "charge");
    const job = defineJob({
      name: "job",
      ...NOW,
      run: ({ step }) =>
        step(
          "charge",
          {
            onUnknown: () => {
              throw new Error("the bank does not answer");
            },
          },
          () => "never",
        ),
    });
    const worker = leasehold.work([job]);
    await world.world.advance(60_000);
    expect(await leasehold.get(jobId)).toMatchObject({
      state: "failed",
      attempt: 10,
      error: { message: "the bank does not answer" },
    });
    expect(await leasehold.steps(jobId)).toMatchObject([{ state: "unknown", attempt: 1 }]);
    await worker.stop();
  });

  it("is unknown also after an unknown outcome, as itself or as a cause, though the process lived on", async () => {
    for (const wrap of [
      (error: Error) => error,
      (error: Error) => new Error("the bank failed", { cause: error }),
    ]) {
      const { leasehold } = testWorld();
      let calls = 0;
      const job = defineJob({
        name: "job",
        ...NOW,
        run: ({ step }) =>
          step("charge", () => {
            calls++;
            throw wrap(new UnknownOutcomeError("charge", undefined, { who: "the bank" }));
          }),
      });
      const answer = await leasehold.enqueue(job);
      expect(await leasehold.drain([job])).toMatchObject({ retried: 1, failed: 1 });
      expect(calls).toBe(1);
      expect(await leasehold.get(answer)).toMatchObject({ error: { name: "StepUnknownError" } });
    }
  });

  it("is unknown when its function threw after the signal had fired", async () => {
    const { leasehold, world, another } = testWorld();
    const job = defineJob({
      name: "job",
      run: ({ step, signal }) =>
        step(
          "send",
          () =>
            new Promise((_, reject) => {
              signal.addEventListener("abort", () => reject(signal.reason), { once: true });
            }),
        ),
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job], { graceMs: 1_000 });
    await world.settle();
    const stopped = worker.stop();
    await world.advance(5_000);
    await stopped;
    expect(await leasehold.get(answer)).toMatchObject({ state: "ready", attempt: 0 });
    expect(await leasehold.steps(answer)).toMatchObject([{ step: "send", state: "unknown" }]);
    // The attempt was given back, so this one calls itself the first as well, and still does not run it.
    expect(await another().drain([job])).toMatchObject({ failed: 1 });
  });

  it("is found by an attempt that calls itself the first after a revoke", async () => {
    const { leasehold, world } = testWorld();
    const hold = gate();
    const calls: string[] = [];
    const late: unknown[] = [];
    const job = defineJob({
      name: "job",
      async run({ step }) {
        await step("one", () => calls.push("one"));
        await step("two", { onUnknown: "run" }, () => calls.push("two"));
        await hold.promise;
        await step("three", () => calls.push("three")).catch((error) => late.push(error));
      },
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.settle();
    await leasehold.pauseQueue("job");
    await leasehold.revoke(answer);
    hold.open();
    await world.settle();
    expect(late).toEqual([expect.any(StaleLeaseError)]);
    await leasehold.resumeQueue("job");
    await world.settle();
    expect(calls).toEqual(["one", "two", "three"]);
    expect(await leasehold.get(answer)).toMatchObject({ state: "completed", attempt: 1 });
    await worker.stop();
  });
});

describe("a step's records", () => {
  it("are asked for again when their replies are lost, and the function runs once", async () => {
    const { leasehold, store, world } = testWorld();
    let calls = 0;
    let lost = 0;
    store.after("write", () => {
      if (lost++ % 2 === 0) throw new UnknownOutcomeError("write", new Error("the reply was lost"));
    });
    const job = defineJob({ name: "job", run: ({ step }) => step("one", () => ++calls) });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.advance(5_000);
    expect(await leasehold.result(answer)).toBe(1);
    expect(lost).toBe(4);
    await worker.stop();
  });

  it("are given up when trust ends without an answer, and the step is unknown to the next attempt", async () => {
    const { leasehold, store, world } = testWorld();
    const job = defineJob({ name: "job", run: ({ step }) => step("one", () => 1) });
    const answer = await leasehold.enqueue(job);
    let writes = 0;
    store.before("write", () => {
      if (++writes > 1) throw new UnknownOutcomeError("write", new Error("no answer"));
    });
    store.before("renew", () => {
      throw new UnknownOutcomeError("renew", new Error("no answer"));
    });
    const worker = leasehold.work([job], { renewer: "inline" });
    const errors: unknown[] = [];
    worker.on("retrying", ({ error }) => errors.push(error));
    await world.advance(40_000);
    expect(errors).toEqual([expect.any(UnknownOutcomeError)]);
    expect(await leasehold.steps(answer)).toMatchObject([{ state: "unknown" }]);
    await worker.stop();
  });

  it("begin anew with `again`, and stay with a plain retry", async () => {
    const { leasehold } = testWorld();
    const keys: string[] = [];
    const job = defineJob({ name: "job", run: ({ step }) => step("one", ({ key }) => keys.push(key)) });
    const { jobId } = await leasehold.enqueue(job);
    await leasehold.drain([job]);
    await leasehold.retry(jobId);
    await leasehold.drain([job]);
    await leasehold.retry(jobId, { again: true });
    await leasehold.drain([job]);
    expect(keys).toEqual([`job:${jobId}/1/one`, `job:${jobId}/2/one`]);
    expect(await leasehold.steps(jobId)).toMatchObject([{ run: 2, state: "done" }]);
  });
});

/** What a handler of one step returned. */
async function thrownBy(body: (step: Step) => Promise<unknown>): Promise<unknown> {
  const { leasehold } = testWorld();
  let seen: unknown;
  const job = defineJob({
    name: "job",
    async run({ step }) {
      seen = await body(step);
    },
  });
  await leasehold.enqueue(job);
  await leasehold.drain([job]);
  return seen;
}

/** A job whose first owner finished these steps, began another, and was never heard of again. */
async function diesInStep(world: TestWorld, done: readonly string[], begun: string): Promise<string> {
  const { leasehold, kill } = world.mortal();
  const dying = gate();
  const job = defineJob({
    name: "job",
    async run({ step }) {
      for (const name of done) await step(name, () => "stored by the dead");
      await step(begun, () => {
        dying.open();
        return new Promise(() => {});
      });
    },
  });
  const { jobId } = await world.leasehold.enqueue(job);
  leasehold.work([job]);
  await world.world.settle();
  await dying.promise;
  kill();
  return jobId;
}

/** Runs the job that is there with this body until it has completed, and answers its result. */
async function ended(
  { leasehold, world }: TestWorld,
  run: (step: Step) => Promise<unknown>,
): Promise<unknown> {
  const job = defineJob({ name: "job", run: ({ step }) => run(step) });
  const worker = leasehold.work([job]);
  await world.advance(60_000);
  const [only] = (await leasehold.list()).jobs;
  await worker.stop();
  expect(only).toMatchObject({ state: "completed" });
  return only?.result;
}
