import { describe, expect, it } from "vitest";
import { defineJob, InvalidArgumentError, Leasehold } from "../../src/index.ts";
import { memory } from "../../src/testing/index.ts";

// What plain JavaScript lets through, and what a compiler would have caught.
const careless = (call: () => unknown): Promise<unknown> =>
  Promise.resolve()
    .then(call)
    .catch((error: unknown) => error);

const leasehold = new Leasehold({ store: memory({ nowMs: () => 0 }) });
const job = defineJob({ name: "job", run() {} });

describe("a mistake that would be ignored in silence is refused, and the message lists what there is", () => {
  it.each<[string, () => unknown, RegExp]>([
    ["enqueue", () => leasehold.enqueue(job, undefined, { delay: 1 } as never), /"delay".*delayMs/s],
    [
      "enqueueMany",
      () => leasehold.enqueueMany([{ job, prio: 1 } as never]),
      /entries\[0\].*"prio".*priority/s,
    ],
    [
      "defineJob",
      () => defineJob({ name: "x", maxAttemps: 3, run() {} } as never),
      /"maxAttemps".*maxAttempts/s,
    ],
    [
      "defineJob without run",
      () => defineJob({ name: "x" } as never),
      /run: received undefined.*a function/s,
    ],
    ["work", () => leasehold.work([job], { concurency: 1 } as never), /"concurency".*concurrency/s],
    ["work with one job", () => leasehold.work(job as never), /an array of jobs/],
    [
      "withLease without options",
      () => leasehold.withLease("x", (() => 1) as never, undefined as never),
      /leaseMs/,
    ],
    ["withLease without fn", () => leasehold.withLease("x", {}, undefined as never), /fn.*a function/s],
    ["new Leasehold", () => new Leasehold(undefined as never), /store/],
    ["new Leasehold with a path", () => new Leasehold({ store: "./jobs.db" } as never), /sqlite\(path\)/],
  ])("%s", async (_, call, message) => {
    const error = await careless(call);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(String(error)).toMatch(message);
  });
});
