import { describe, expect, expectTypeOf, it } from "vitest";
import { defineJob } from "../../src/client/define-job.ts";
import type { Lease } from "../../src/client/handler.ts";
import type { EffectLease } from "../../src/destinations/destination.ts";
import { testWorld } from "./world.ts";

describe("D4 lease.effectScope", () => {
  it("is one for all attempts of a run, and another for the next run", async () => {
    const { leasehold, world } = testWorld();
    const seen: unknown[] = [];
    const job = defineJob({
      name: "job",
      maxAttempts: 2,
      backoff: { kind: "fixed", baseMs: 100, jitter: "none" },
      run({ job, lease }) {
        seen.push([lease.effectScope, job.attempt]);
        throw new Error("again");
      },
    });
    const answer = await leasehold.enqueue(job);
    const worker = leasehold.work([job]);
    await world.advance(1_000);
    await leasehold.retry(answer, { again: true });
    await world.advance(1_000);
    await worker.stop();
    expect(seen.slice(0, 3)).toEqual([
      [`job:${answer.jobId}/1`, 1],
      [`job:${answer.jobId}/1`, 2],
      [`job:${answer.jobId}/2`, 1],
    ]);
  });

  it("is null under withLease, where there is no run", async () => {
    const { leasehold } = testWorld();
    expect(await leasehold.withLease("report", {}, (lease) => lease.effectScope)).toBeNull();
    await leasehold.close();
  });

  it("makes a handler's lease what a destination takes", () => {
    expectTypeOf<Lease>().toExtend<EffectLease>();
  });
});
