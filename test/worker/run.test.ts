import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineJob } from "../../src/client/define-job.ts";
import type { RunContext } from "../../src/client/handler.ts";
import { FinalError } from "../../src/errors.ts";
import { gate, testWorld } from "./world.ts";

const once = { maxAttempts: 1 };

describe("a run", () => {
  it("gives the handler its input and keeps what it returns as the job's result", async () => {
    const { leasehold, world } = testWorld();
    const double = defineJob({
      name: "double",
      run: ({ input }: RunContext<{ n: number }>) => ({ twice: input.n * 2 }),
    });
    const answer = await leasehold.enqueue(double, { n: 21 });
    expect(await leasehold.drain([double])).toMatchObject({ completed: 1, failed: 0 });
    expect(await leasehold.result(answer)).toEqual({ twice: 42 });
    expect(world.pendingTimers).toBe(0);
  });

  it("knows its job: id, name, queue, attempt, run, and that nobody held it before", async () => {
    const { leasehold } = testWorld();
    let seen: unknown;
    const job = defineJob({
      name: "who",
      queue: "people",
      run({ job: { id, name, queue, attempt, maxAttempts, run, previous } }) {
        seen = { id, name, queue, attempt, maxAttempts, run, previous };
      },
    });
    const { jobId } = await leasehold.enqueue(job);
    await leasehold.drain([job]);
    expect(seen).toEqual({
      id: jobId,
      name: "who",
      queue: "people",
      attempt: 1,
      maxAttempts: 10,
      run: 1,
      previous: undefined,
    });
  });

  it.each([[0], [false], [null], [""], [[]], [{}]])(
    "hands the falsy or empty input %j over as it is",
    async (value) => {
      const { leasehold } = testWorld();
      const seen: unknown[] = [];
      const job = defineJob({ name: "echo", run: ({ input }) => void seen.push(input) });
      await leasehold.enqueue(job, value);
      await leasehold.drain([job]);
      expect(seen).toEqual([value]);
    },
  );

  it("hands over null where the input was undefined or left out", async () => {
    const { leasehold } = testWorld();
    const seen: unknown[] = [];
    const job = defineJob({ name: "echo", run: ({ input }) => void seen.push(input) });
    await leasehold.enqueue(job);
    await leasehold.enqueue(job, undefined);
    await leasehold.drain([job]);
    expect(seen).toEqual([null, null]);
  });

  it.each([0, false, null, ""])("keeps the falsy result %j apart from no result", async (value) => {
    const { leasehold } = testWorld();
    const job = defineJob({ name: "falsy", run: () => value });
    const answer = await leasehold.enqueue(job);
    await leasehold.drain([job]);
    expect(await leasehold.result(answer)).toBe(value);
  });

  it("is retried after its back-off when the handler throws, with the error kept", async () => {
    const { leasehold, world } = testWorld();
    let tries = 0;
    const flaky = defineJob({
      name: "flaky",
      backoff: { kind: "fixed", baseMs: 1_000, jitter: "none" },
      run() {
        tries++;
        if (tries === 1) throw new TypeError("not yet", { cause: new Error("the network") });
        return "done";
      },
    });
    const answer = await leasehold.enqueue(flaky);
    expect(await leasehold.drain([flaky])).toMatchObject({ retried: 1 });
    expect(await leasehold.get(answer)).toMatchObject({
      state: "ready",
      attempt: 1,
      error: { name: "TypeError", message: "not yet", cause: { message: "the network" } },
    });
    await world.advance(1_000);
    expect(await leasehold.drain([flaky])).toMatchObject({ completed: 1 });
    expect(tries).toBe(2);
  });

  it("is picked up by a sleeping worker as soon as its back-off has passed", async () => {
    const { leasehold, world } = testWorld();
    let tries = 0;
    const flaky = defineJob({
      name: "flaky",
      backoff: { kind: "fixed", baseMs: 700, jitter: "none" },
      run() {
        if (++tries === 1) throw new Error("not yet");
      },
    });
    await leasehold.enqueue(flaky);
    const worker = leasehold.work([flaky]);
    await world.advance(0);
    expect(tries).toBe(1);
    await world.advance(702);
    expect(tries).toBe(2);
    await worker.stop();
  });

  it("has failed for good after its last attempt", async () => {
    const { leasehold } = testWorld();
    const broken = defineJob({ name: "broken", ...once, run: () => Promise.reject(new Error("no")) });
    const answer = await leasehold.enqueue(broken);
    expect(await leasehold.drain([broken])).toMatchObject({ failed: 1, retried: 0 });
    await expect(leasehold.result(answer)).rejects.toMatchObject({
      code: "LH_JOB_NOT_COMPLETED",
      state: "failed",
      cause: { message: "no" },
    });
  });

  it("has failed at once when the handler throws a FinalError", async () => {
    const { leasehold } = testWorld();
    const hopeless = defineJob({
      name: "hopeless",
      run() {
        throw new FinalError("the account is closed");
      },
    });
    const answer = await leasehold.enqueue(hopeless);
    await leasehold.drain([hopeless]);
    expect(await leasehold.get(answer)).toMatchObject({ state: "failed", endReason: "final", attempt: 1 });
  });

  it.each([
    ["undefined", undefined],
    ["null", null],
    ["a text", "oops"],
    ["a number", 7],
    ["a symbol", Symbol("s")],
    ["a half surrogate pair and NUL", new Error("\ud800 \0")],
    [
      "an error with a cause that points back",
      Object.assign(new Error("loop"), { cause: undefined as unknown }),
    ],
    [
      "an object whose members throw",
      new Proxy(
        {},
        {
          get: () => {
            throw new Error("trap");
          },
        },
      ),
    ],
    ["a megabyte of message", new Error("é".repeat(1_000_000))],
    ["a message that is no text", Object.assign(new Error(), { message: 12n })],
  ])("survives that the handler throws %s, and keeps something storable", async (_what, thrown) => {
    if (thrown instanceof Error && thrown.message === "loop") (thrown as { cause: unknown }).cause = thrown;
    const { leasehold } = testWorld();
    const job = defineJob({
      name: "thrower",
      ...once,
      run() {
        throw thrown;
      },
    });
    const neighbour = defineJob({ name: "neighbour", run: () => "fine" });
    const answer = await leasehold.enqueue(job);
    const other = await leasehold.enqueue(neighbour);
    expect(await leasehold.drain([job, neighbour])).toMatchObject({ failed: 1, completed: 1 });
    const { error } = (await leasehold.get(answer))!;
    expect(Buffer.byteLength(JSON.stringify(error))).toBeLessThanOrEqual(16_384);
    expect(typeof error?.message).toBe("string");
    expect(await leasehold.result(other)).toBe("fine");
  });

  it.each([
    ["a BigInt", { n: 1n }, "result.n"],
    [
      "a cycle",
      (() => {
        const a: Record<string, unknown> = {};
        a["self"] = a;
        return a;
      })(),
      "result.self",
    ],
    ["NaN", [Number.NaN], "result[0]"],
    ["more than the limit", "x".repeat(1_048_577), "result"],
  ])("fails its attempt when the handler returns %s, and takes nobody down", async (_what, value, path) => {
    const { leasehold } = testWorld();
    const job = defineJob({ name: "returner", ...once, run: () => value });
    const neighbours = defineJob({ name: "neighbour", run: () => 1 });
    const answer = await leasehold.enqueue(job);
    for (let i = 0; i < 5; i++) await leasehold.enqueue(neighbours);
    expect(await leasehold.drain([job, neighbours])).toMatchObject({ failed: 1, completed: 5 });
    const view = await leasehold.get(answer);
    expect(view?.error).toMatchObject({ name: "UnstorableValueError" });
    expect(view?.error?.message.startsWith(`${path}: `)).toBe(true);
  });

  it("checks the input against its schema when claimed, and gives the handler what the schema makes of it", async () => {
    const { leasehold } = testWorld();
    const seen: unknown[] = [];
    const old = defineJob({ name: "mail", ...once, run: () => {} });
    const strict = defineJob({
      name: "mail",
      ...once,
      input: z.object({ to: z.string().transform((to) => to.toUpperCase()), copies: z.number().default(1) }),
      run: ({ input }) => void seen.push(input),
    });
    const bad = await leasehold.enqueue(old, { to: 7 });
    await leasehold.enqueue(strict, { to: "ann" });
    expect(await leasehold.drain([strict])).toMatchObject({ failed: 1, completed: 1 });
    expect(seen).toEqual([{ to: "ANN", copies: 1 }]);
    expect((await leasehold.get(bad))?.error).toMatchObject({ name: "SchemaMismatchError" });
  });

  it("checks the result against its schema", async () => {
    const { leasehold } = testWorld();
    const job = defineJob({
      name: "sum",
      ...once,
      result: z.object({ sum: z.number() }),
      run: () => ({ sum: "three" }) as unknown as { sum: number },
    });
    const answer = await leasehold.enqueue(job);
    await leasehold.drain([job]);
    expect((await leasehold.get(answer))?.error).toMatchObject({ name: "SchemaMismatchError" });
  });

  it("waits for schemas that answer later", async () => {
    const { leasehold } = testWorld();
    const later = z.string().refine(async (text) => text !== "bad");
    const job = defineJob({ name: "later", input: later, run: ({ input }) => input.length });
    await expect(leasehold.enqueue(job, "bad")).rejects.toMatchObject({ code: "LH_SCHEMA_MISMATCH" });
    const answer = await leasehold.enqueue(job, "good");
    await leasehold.drain([job]);
    expect(await leasehold.result(answer)).toBe(4);
  });

  it("ends only once: what it throws after job.complete is an event, what it returns is ignored", async () => {
    const { leasehold, world } = testWorld();
    const late: unknown[] = [];
    const job = defineJob({
      name: "early",
      async run({ job }) {
        await job.complete(() => "the result");
        throw new Error("too late");
      },
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]).on("threwLate", ({ error }) => late.push(error));
    await world.advance(0);
    await worker.stop();
    expect(await leasehold.result(answer)).toBe("the result");
    expect(late).toMatchObject([{ message: "too late" }]);
  });

  it("puts off a job whose name the worker does not know, longer each time, with its attempt returned", async () => {
    const { leasehold, world, store } = testWorld();
    const known = defineJob({ name: "known", run: () => {} });
    const unknown = defineJob({ name: "unknown", run: () => {} });
    const released: unknown[] = [];
    const { jobId } = await leasehold.enqueue(unknown, null, { queue: "known" });
    const worker = leasehold.work([known]).on("released", ({ why }) => released.push(why));
    await world.advance(0);
    expect(released).toEqual(["unknown_name"]);
    expect(await leasehold.get(jobId)).toMatchObject({ state: "ready", attempt: 0 });
    await world.advance(1_100);
    expect(released.length).toBe(2);
    await world.advance(1_100);
    expect(released.length).toBe(2);
    await world.advance(1_000);
    expect(released.length).toBe(3);
    const delays = store.calls
      .filter(({ method }) => method === "settle")
      .map(({ args }) => (args[0] as { delayMs: number }[])[0]?.delayMs);
    expect(delays).toEqual([1_000, 2_000, 4_000]);
    await worker.stop();
  });

  it("writes progress and log lines before its end, the latest progress only", async () => {
    const { leasehold, store } = testWorld();
    const job = defineJob({
      name: "steps",
      run({ progress, log }) {
        log("begun");
        for (let i = 0; i <= 100; i++) progress({ percent: i });
        log("done \ud800\0");
      },
    });
    const answer = await leasehold.enqueue(job);
    await leasehold.drain([job]);
    expect(await leasehold.get(answer)).toMatchObject({ state: "completed", progress: { percent: 100 } });
    const lines = (await leasehold.journal(answer))
      .filter(({ kind }) => kind === "log")
      .map(({ message }) => message);
    expect(lines).toEqual(["begun", "done \ufffd\ufffd"]);
    expect(store.called("write")).toBe(1);
  });

  it("runs as many handlers at once as its worker's concurrency, and no more", async () => {
    const { leasehold, world } = testWorld();
    const gates = Array.from({ length: 7 }, () => gate());
    let begun = 0;
    const job = defineJob({ name: "slow", run: () => gates[begun++]!.promise });
    await leasehold.enqueueMany(gates.map(() => ({ job })));
    const worker = leasehold.work([job], { concurrency: 3 });
    await world.advance(300);
    expect([begun, worker.running]).toEqual([3, 3]);
    gates[0]!.open();
    await world.advance(0);
    expect([begun, worker.running]).toEqual([4, 3]);
    for (const { open } of gates) open();
    await world.advance(300);
    expect([begun, worker.running]).toEqual([7, 0]);
    await worker.stop();
  });
});
