import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineJob } from "../../src/client/define-job.ts";
import {
  InvalidArgumentError,
  SchemaMismatchError,
  StoreBusyError,
  UniqueConflictError,
  UnknownOutcomeError,
  UnstorableValueError,
} from "../../src/errors.ts";
import type { NewJob } from "../../src/protocol/enqueue.ts";
import { LAST_MOMENT_MS } from "../../src/protocol/job.ts";
import { testWorld } from "../worker/world.ts";

const job = defineJob({ name: "job", run: () => {} });
const ID = "0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11";

describe("enqueue", () => {
  it("says what happened and to which job", async () => {
    const { leasehold } = testWorld();
    const answer = await leasehold.enqueue(job, { n: 1 }, { jobId: ID });
    expect(answer).toEqual({ outcome: "enqueued", jobId: ID });
    expect(await leasehold.enqueue(job, { n: 1 }, { jobId: ID })).toMatchObject({
      outcome: "repeated",
      state: "ready",
    });
    await leasehold.drain([job]);
    expect(await leasehold.enqueue(job, { n: 1 }, { jobId: ID.toUpperCase() })).toMatchObject({
      outcome: "repeated",
      state: "completed",
    });
  });

  it("takes what the options say, else what the definition says, else the defaults", async () => {
    const { leasehold } = testWorld();
    const own = defineJob({
      name: "own",
      queue: "q",
      leaseMs: 5_000,
      maxAttempts: 3,
      maxRunMs: 60_000,
      priority: 5,
      resource: (input: { account: string }) => `account:${input.account}`,
      unique: ({ account }) => ({ key: account }),
      run: (_context: { input: { account: string } }) => {},
    });
    const plain = await leasehold.get(await leasehold.enqueue(job));
    expect(plain).toMatchObject({
      queue: "job",
      leaseMs: 30_000,
      maxAttempts: 10,
      maxRunMs: null,
      priority: 0,
      resource: null,
      uniqueKey: null,
      blockedBy: 0,
      backoff: null,
      runAtMs: null,
    });
    expect(await leasehold.get(await leasehold.enqueue(own, { account: "42" }))).toMatchObject({
      queue: "q",
      leaseMs: 5_000,
      maxAttempts: 3,
      maxRunMs: 60_000,
      priority: 5,
      resource: "account:42",
      uniqueKey: "42",
    });
    const options = {
      queue: "other",
      leaseMs: 900,
      maxAttempts: 1,
      maxRunMs: 7,
      priority: -1,
      resource: "r",
      unique: { key: "k" },
      backoff: { baseMs: 5 },
    };
    expect(await leasehold.get(await leasehold.enqueue(own, { account: "43" }, options))).toMatchObject({
      queue: "other",
      leaseMs: 900,
      maxAttempts: 1,
      maxRunMs: 7,
      priority: -1,
      resource: "r",
      uniqueKey: "k",
      backoff: { kind: "exponential", baseMs: 5, capMs: 3_600_000, jitter: "full" },
    });
  });

  it("stores the input as it was given, not what the schema makes of it", async () => {
    const { leasehold } = testWorld();
    const mail = defineJob({ name: "mail", input: z.object({ at: z.coerce.date() }), run: () => {} });
    const answer = await leasehold.enqueue(mail, { at: "2026-01-01" });
    expect((await leasehold.get(answer))?.input).toEqual({ at: "2026-01-01" });
  });

  it("refuses an input that does not fit its schema, naming every place", async () => {
    const { leasehold, store } = testWorld();
    const mail = defineJob({
      name: "mail",
      input: z.object({ to: z.string(), n: z.array(z.number()) }),
      run: () => {},
    });
    const refused = leasehold.enqueue(mail, { to: 1, n: ["x"] } as never);
    await expect(refused).rejects.toBeInstanceOf(SchemaMismatchError);
    await expect(refused).rejects.toMatchObject({
      issues: [{ path: "input.to" }, { path: "input.n.0" }],
    });
    expect(store.called("enqueue")).toBe(0);
  });

  it.each([
    ["an empty queue", { queue: "" }],
    ["a queue over 255 bytes", { queue: "🙂".repeat(64) }],
    ["a queue with NUL", { queue: "a\0" }],
    ["a queue with half a surrogate pair", { queue: "\ud800" }],
    ["a resource over 255 bytes", { resource: "x".repeat(256) }],
    ["an empty unique key", { unique: { key: "" } }],
    ["a conflict rule that is none", { unique: { key: "k", onConflict: "ignore" as never } }],
    ["a negative delay", { delayMs: -1 }],
    ["an infinite delay", { delayMs: Number.POSITIVE_INFINITY }],
    ["a delay that is no number", { delayMs: Number.NaN }],
    ["a delay given as text", { delayMs: "5" as never }],
    ["a delay beyond the year 9999", { delayMs: LAST_MOMENT_MS }],
    ["a moment beyond the year 9999", { runAt: LAST_MOMENT_MS + 1 }],
    ["a moment that is no moment", { runAt: new Date("never") }],
    ["a moment before 1970", { runAt: -1 }],
    ["a moment and a delay", { runAt: 1, delayMs: 1 }],
    ["no attempts", { maxAttempts: 0 }],
    ["half an attempt", { maxAttempts: 1.5 }],
    ["a lease under 250 ms", { leaseMs: 249 }],
    ["a lease of a year", { leaseMs: 365 * 86_400_000 }],
    ["a priority that is no 32-bit integer", { priority: 2 ** 31 }],
    ["a back-off below zero", { backoff: { baseMs: -1 } }],
    ["a job id that is no UUID", { jobId: "42" }],
  ])("refuses %s", async (_what, options) => {
    const { leasehold, store } = testWorld();
    await expect(leasehold.enqueue(job, null, options)).rejects.toBeInstanceOf(InvalidArgumentError);
    expect(store.called("enqueue")).toBe(0);
  });

  it("takes names of 255 bytes, delays of 100 years and moments in the past", async () => {
    const { leasehold } = testWorld();
    const delayMs = 100 * 365 * 86_400_000;
    for (const options of [
      { queue: "é".repeat(127) },
      { delayMs },
      { runAt: new Date(0) },
      { runAt: LAST_MOMENT_MS },
    ]) {
      expect((await leasehold.enqueue(job, null, options)).outcome).toBe("enqueued");
    }
  });

  it("obeys maxInputBytes", async () => {
    const { leasehold } = testWorld({ maxInputBytes: 100 });
    await expect(leasehold.enqueue(job, "x".repeat(99))).rejects.toBeInstanceOf(UnstorableValueError);
    await leasehold.enqueue(job, "x".repeat(98));
  });

  it("throws UniqueConflictError for a taken key only when asked to (C17)", async () => {
    const { leasehold } = testWorld();
    const first = await leasehold.enqueue(job, 1, { unique: { key: "k" } });
    expect(await leasehold.enqueue(job, 2, { unique: { key: "k" } })).toMatchObject({
      outcome: "kept",
      jobId: first.jobId,
    });
    const refused = leasehold.enqueue(job, 3, { unique: { key: "k", onConflict: "throw" } });
    await expect(refused).rejects.toBeInstanceOf(UniqueConflictError);
    await expect(refused).rejects.toMatchObject({ jobId: first.jobId, state: "ready" });
    expect(await leasehold.enqueue(job, 4, { unique: { key: "k", onConflict: "replace" } })).toMatchObject({
      outcome: "replaced",
    });
    expect((await leasehold.get(first))?.input).toBe(4);
  });

  it("refuses a job that defineJob did not make", async () => {
    const { leasehold } = testWorld();
    await expect(leasehold.enqueue({ name: "fake" } as never)).rejects.toBeInstanceOf(InvalidArgumentError);
  });
});

describe("concurrent enqueues", () => {
  it("share a call when they come in one turn", async () => {
    const { leasehold, store } = testWorld();
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => leasehold.enqueue(job, i)));
    expect(store.called("enqueue")).toBe(1);
    const views = await leasehold.getMany(answers);
    expect(views.map((view) => view?.input)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  it("each hear of their own conflict, repetition or refusal", async () => {
    const { leasehold, store } = testWorld();
    const unique = { key: "k", onConflict: "throw" as const };
    const settled = await Promise.allSettled([
      leasehold.enqueue(job, 1, { jobId: ID }),
      leasehold.enqueue(job, 1, { jobId: ID }),
      leasehold.enqueue(job, 2, { unique }),
      leasehold.enqueue(job, 3, { unique }),
      leasehold.enqueue(job, 4n as never),
    ]);
    expect(store.called("enqueue")).toBe(1);
    expect(settled).toMatchObject([
      { value: { outcome: "enqueued" } },
      { value: { outcome: "repeated" } },
      { value: { outcome: "enqueued" } },
      { reason: { code: "LH_UNIQUE_CONFLICT" } },
      { reason: { code: "LH_UNSTORABLE_VALUE" } },
    ]);
  });

  it("are repeated one by one when their shared call fails for sure: only the culprit hears of it", async () => {
    const { leasehold, store } = testWorld();
    store.before("enqueue", ((rows: NewJob[]) => {
      if (rows.some(({ input }) => input === "2")) throw new Error("this row, never");
    }) as never);
    const settled = await Promise.allSettled([0, 1, 2, 3].map((input) => leasehold.enqueue(job, input)));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  });

  it("all hear of a busy store, once: nothing was written", async () => {
    const { leasehold, store } = testWorld();
    store.before("enqueue", () => {
      throw new StoreBusyError("enqueue", 5_000);
    });
    const settled = await Promise.allSettled([1, 2, 3].map((input) => leasehold.enqueue(job, input)));
    expect(settled.every(({ status }) => status === "rejected")).toBe(true);
    expect(store.called("enqueue")).toBe(1);
  });
});

describe("an enqueue without an answer (C11)", () => {
  it("is repeated with the same id and is one job, whether or not the first one happened", async () => {
    for (const when of ["before", "after"] as const) {
      const { leasehold, store } = testWorld();
      let lost = 1;
      store[when]("enqueue", () => {
        if (lost-- > 0) throw new UnknownOutcomeError("enqueue", "time-out");
      });
      expect((await leasehold.enqueue(job, 1)).outcome).toBe("enqueued");
      expect((await leasehold.list()).jobs.length).toBe(1);
    }
  });

  it("twice is told as unknown, never as failed", async () => {
    const { leasehold, store } = testWorld();
    store.after("enqueue", () => {
      throw new UnknownOutcomeError("enqueue", "time-out");
    });
    await expect(leasehold.enqueue(job, 1)).rejects.toBeInstanceOf(UnknownOutcomeError);
  });

  it("in a caller's transaction is not repeated by itself", async () => {
    const { leasehold, store } = testWorld();
    store.before("enqueue", () => {
      throw new UnknownOutcomeError("enqueue", "time-out");
    });
    await expect(leasehold.enqueue(job, 1, { tx: {} })).rejects.toBeInstanceOf(UnknownOutcomeError);
    expect(store.called("enqueue")).toBe(1);
  });
});

describe("enqueueMany", () => {
  it("takes thousands in a few calls and answers in their order", async () => {
    const { leasehold, store } = testWorld();
    const answers = await leasehold.enqueueMany(
      Array.from({ length: 2_500 }, (_, input) => ({ job, input })),
    );
    expect(answers.length).toBe(2_500);
    expect(store.called("enqueue")).toBe(3);
    expect((await leasehold.get(answers[1_234]!))?.input).toBe(1_234);
  });

  it("cuts calls by size as well, so that none holds the store for long", async () => {
    const { leasehold, store } = testWorld();
    const input = "x".repeat(1_000_000);
    await leasehold.enqueueMany(Array.from({ length: 20 }, () => ({ job, input })));
    expect(store.called("enqueue")).toBe(3);
  });

  it("checks every member before it sends any, and names the bad one", async () => {
    const { leasehold, store } = testWorld();
    const bad = leasehold.enqueueMany([
      { job, input: 1 },
      { job, input: { at: Number.NaN } },
    ]);
    await expect(bad).rejects.toMatchObject({ path: "entries[1].input.at" });
    expect(store.called("enqueue")).toBe(0);
  });

  it("answers `conflict` for a taken key, and writes the others", async () => {
    const { leasehold } = testWorld();
    const unique = { key: "k", onConflict: "throw" as const };
    const answers = await leasehold.enqueueMany([{ job, unique }, { job, unique }, { job }]);
    expect(answers.map(({ outcome }) => outcome)).toEqual(["enqueued", "conflict", "enqueued"]);
  });

  it("of nothing is nothing", async () => {
    const { leasehold, store } = testWorld();
    expect(await leasehold.enqueueMany([])).toEqual([]);
    expect(store.called("enqueue")).toBe(0);
  });
});
