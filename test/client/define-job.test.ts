import { describe, expect, it } from "vitest";
import { defineJob, isJobDefinition } from "../../src/client/define-job.ts";
import { InvalidArgumentError } from "../../src/errors.ts";
import { testWorld } from "../worker/world.ts";

const run = () => {};

describe("defineJob", () => {
  it("fills in the defaults", () => {
    expect(defineJob({ name: "job", run })).toMatchObject({
      name: "job",
      queue: "job",
      leaseMs: 30_000,
      maxAttempts: 10,
      maxRunMs: undefined,
      priority: 0,
      backoff: { kind: "exponential", baseMs: 1_000, capMs: 3_600_000, jitter: "full" },
    });
  });

  it("makes what isJobDefinition knows, also when another copy of the package made it", () => {
    expect(isJobDefinition(defineJob({ name: "job", run }))).toBe(true);
    expect(isJobDefinition({ [Symbol.for("leasehold.job")]: true })).toBe(true);
    for (const other of [null, undefined, 1, "job", {}, run, { name: "job", run }]) {
      expect(isJobDefinition(other)).toBe(false);
    }
  });

  it("cannot be changed afterwards", () => {
    expect(Object.isFrozen(defineJob({ name: "job", run }))).toBe(true);
  });

  it.each([
    ["no name", { name: "" }],
    ["a long name", { name: "x".repeat(256) }],
    ["a short lease", { name: "x", leaseMs: 100 }],
    ["no attempts", { name: "x", maxAttempts: 0 }],
    ["a run of no time", { name: "x", maxRunMs: 0 }],
    ["a back-off of no kind", { name: "x", backoff: { kind: "linear" as never } }],
  ])("refuses %s", (_what, spec) => {
    expect(() => defineJob({ ...spec, run })).toThrow(InvalidArgumentError);
  });
});

describe("work", () => {
  const job = defineJob({ name: "job", run });

  it.each([
    ["no jobs", [], {}],
    ["two jobs of one name", [job, defineJob({ name: "job", run })], {}],
    ["what is no job", [{ name: "x" } as never], {}],
    ["no concurrency", [job], { concurrency: 0 }],
    ["no queues", [job], { queues: [] }],
    ["an endless grace", [job], { graceMs: Number.POSITIVE_INFINITY }],
    ["a poll of no time", [job], { pollMs: 0 }],
    ["a renewer that is none", [job], { renewer: "process" as never }],
  ])("refuses %s", (_what, jobs, options) => {
    expect(() => testWorld().leasehold.work(jobs, options)).toThrow(InvalidArgumentError);
  });
});
