import { describe, expect, it } from "vitest";
import { renew } from "../../src/protocol/renew.ts";
import { endOf, type Settlement, settle } from "../../src/protocol/settle.ts";
import { A, fence, gen, heldLease, LEASE_MS, leasedJob, NOW_MS, RESOURCE } from "../support/records.ts";

const complete: Settlement = { operation: "complete", fence: fence(), result: '"done"' };
const fail = (retryInMs: number | "final"): Settlement => ({
  operation: "fail",
  fence: fence(),
  error: '"no"',
  retryInMs,
});
const release = (delayMs: number): Settlement => ({ operation: "release", fence: fence(), delayMs });
const withResource = { resource: RESOURCE, resourceGeneration: gen(5) };

describe("renew (C5)", () => {
  it("extends the lease and says for how long it had lapsed", () => {
    const { job, answer } = renew(leasedJob({ leaseUntilMs: NOW_MS - 700 }), undefined, NOW_MS);
    expect(job.leaseUntilMs).toBe(NOW_MS + LEASE_MS);
    expect(answer).toEqual({ outcome: "applied", lapsedMs: 700, cancelRequested: false });
  });

  it("extends the resource with the job, and brings a pending cancel", () => {
    const { lease, answer } = renew(
      leasedJob({ ...withResource, cancelRequested: true }),
      heldLease({ leaseUntilMs: NOW_MS }),
      NOW_MS,
    );
    expect(lease).toEqual(heldLease({ leaseUntilMs: NOW_MS + LEASE_MS }));
    expect(answer).toEqual({ outcome: "applied", lapsedMs: 0, cancelRequested: true });
  });
});

describe("settle (C6 to C8)", () => {
  it("complete ends the job and keeps who did it, with which generation", () => {
    expect(
      settle(leasedJob({ error: '"before"', expiredCount: 2 }), undefined, complete, NOW_MS).job,
    ).toMatchObject({
      state: "completed",
      endReason: "completed",
      result: '"done"',
      error: null,
      owner: null,
      leaseUntilMs: null,
      generation: 1,
      expiredCount: 0,
      finishedAtMs: NOW_MS,
      settled: { owner: A, generation: 1, operation: "complete" },
    });
  });

  it("a failed attempt is due again after its delay; without one, whatever the clock says", () => {
    expect(settle(leasedJob(), undefined, fail(900), NOW_MS).job).toMatchObject({
      state: "ready",
      runAtMs: NOW_MS + 900,
      attempt: 1,
    });
    expect(settle(leasedJob(), undefined, fail(0), NOW_MS).job.runAtMs).toBeNull();
  });

  it("release gives the attempt back, never below 0", () => {
    expect(settle(leasedJob(), undefined, release(50), NOW_MS).job).toMatchObject({
      state: "ready",
      attempt: 0,
      runAtMs: NOW_MS + 50,
    });
    expect(settle(leasedJob({ attempt: 0 }), undefined, release(0), NOW_MS).job.attempt).toBe(0);
  });

  it("gives the resource up, and keeps its generation for the next to raise", () => {
    const { lease } = settle(leasedJob(withResource), heldLease(), complete, NOW_MS);
    expect(lease).toMatchObject({ owner: null, leaseUntilMs: null, heldFor: null, generation: 5 });
  });
});

describe("how a settling ends the job", () => {
  const job = { attempt: 1, maxAttempts: 3, cancelRequested: false };
  const last = { ...job, attempt: 3 };
  const cancelled = { ...last, cancelRequested: true };

  it.each([
    [job, complete, "completed", "completed"],
    [job, fail(0), "ready", null],
    [job, fail("final"), "failed", "final"],
    [job, release(0), "ready", null],
    [last, fail(0), "failed", "attempts_exhausted"],
    [last, release(0), "ready", null],
    [cancelled, complete, "completed", "completed"],
    [cancelled, fail("final"), "failed", "final"],
    [cancelled, fail(0), "cancelled", "cancelled"],
    [cancelled, release(0), "cancelled", "cancelled"],
  ] as const)("%j and %j: %s (%s)", (before, settlement, state, endReason) => {
    expect(endOf(before, settlement)).toEqual({ state, endReason });
  });
});
