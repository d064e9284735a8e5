import { describe, expect, it } from "vitest";
import { type ClaimTerms, claim, endLapsed, isDue, lapse, rebased } from "../../src/protocol/claim.ts";
import { A, B, gen, heldLease, LEASE_MS, leasedJob, NOW_MS, RESOURCE, readyJob } from "../support/records.ts";

const terms: ClaimTerms = { owner: B, nowMs: NOW_MS, floor: gen(0), takeover: true };
const lapsed = { leaseUntilMs: NOW_MS - 500 };

describe("claim (C2)", () => {
  it("gives owner, lease, generation and attempt", () => {
    const claimed = claim(readyJob(), undefined, terms);
    expect(claimed?.job).toMatchObject({
      state: "leased",
      owner: B,
      leaseUntilMs: NOW_MS + LEASE_MS,
      generation: 1,
      raisedBy: "claim",
      attempt: 1,
      expiredCount: 0,
      claimedAtMs: NOW_MS,
    });
    expect(claimed?.previous).toBeUndefined();
  });

  it("takes a delayed job from the millisecond at which it is due", () => {
    expect(isDue(readyJob({ runAtMs: NOW_MS }), NOW_MS)).toBe(true);
    expect(claim(readyJob({ runAtMs: NOW_MS + 1 }), undefined, terms)).toBeUndefined();
    expect(claim(readyJob({ runAtMs: NOW_MS }), undefined, terms)?.job.runAtMs).toBeNull();
  });

  it("leaves alone what is leased and not expired, and what has ended", () => {
    expect(claim(leasedJob(), undefined, terms)).toBeUndefined();
    for (const state of ["completed", "failed", "cancelled"] as const) {
      expect(claim(readyJob({ state }), undefined, terms)).toBeUndefined();
    }
  });

  it("takes an expired lease, raises it, counts the lapse and says who held it", () => {
    const claimed = claim(leasedJob(lapsed), undefined, terms);
    expect(claimed?.job).toMatchObject({ owner: B, generation: 2, attempt: 2, expiredCount: 1 });
    expect(claimed?.previous).toEqual({ owner: A, generation: 1, endedAgoMs: 500 });
  });

  it("leaves an expired lease to its owner without `takeover`", () => {
    expect(claim(leasedJob(lapsed), undefined, { ...terms, takeover: false })).toBeUndefined();
    expect(claim(readyJob(), undefined, { ...terms, takeover: false })).toBeDefined();
  });

  it("raises job and resource above the floor", () => {
    const job = readyJob({ resource: RESOURCE });
    const claimed = claim(job, undefined, { ...terms, floor: gen(70) });
    expect([claimed?.job.generation, claimed?.lease?.generation, claimed?.job.resourceGeneration]).toEqual([
      71, 71, 71,
    ]);
  });

  it("does not claim a job whose resource is held, by a run or by name", () => {
    const job = readyJob({ resource: RESOURCE });
    expect(claim(job, heldLease(), terms)).toBeUndefined();
    expect(claim(job, heldLease({ heldFor: null }), terms)).toBeUndefined();
  });

  it("leaves an expired resource to its owner without `takeover`", () => {
    const job = readyJob({ resource: RESOURCE });
    expect(claim(job, heldLease(lapsed), { ...terms, takeover: false })).toBeUndefined();
    expect(
      claim(job, heldLease({ owner: null, leaseUntilMs: null }), { ...terms, takeover: false }),
    ).toBeDefined();
  });

  it("takes the resource with the job once it is free, for just that run", () => {
    const job = readyJob({ resource: RESOURCE });
    for (const lease of [heldLease(lapsed), heldLease({ owner: null, leaseUntilMs: null, heldFor: null })]) {
      const claimed = claim(job, lease, terms);
      expect(claimed?.lease).toMatchObject({
        owner: B,
        generation: 6,
        heldFor: job.jobId,
        leaseUntilMs: NOW_MS + LEASE_MS,
      });
      expect(claimed?.job.resourceGeneration).toBe(6);
    }
  });
});

describe("a lapse", () => {
  it("is taken while attempts are left, and ends the job without them or under a pending cancel", () => {
    expect(lapse(leasedJob(), NOW_MS)).toBe("none");
    expect(lapse(readyJob(), NOW_MS)).toBe("none");
    expect(lapse(leasedJob(lapsed), NOW_MS)).toBe("take");
    expect(lapse(leasedJob({ ...lapsed, attempt: 2, maxAttempts: 2 }), NOW_MS)).toBe("end");
    expect(lapse(leasedJob({ ...lapsed, cancelRequested: true }), NOW_MS)).toBe("end");
  });

  it("without attempts ends as failed (lease_expired), raised and without owner (C12)", () => {
    expect(endLapsed(leasedJob({ ...lapsed, attempt: 2, maxAttempts: 2 }), NOW_MS, gen(0))).toMatchObject({
      state: "failed",
      endReason: "lease_expired",
      raisedBy: "expire",
      generation: 2,
      owner: null,
      leaseUntilMs: null,
      expiredCount: 1,
      finishedAtMs: NOW_MS,
    });
  });

  it("under a pending cancel ends as cancelled (C13)", () => {
    const ended = endLapsed(leasedJob({ ...lapsed, cancelRequested: true }), NOW_MS, gen(8));
    expect(ended).toMatchObject({
      state: "cancelled",
      raisedBy: "cancel",
      generation: 9,
      cancelRequested: false,
    });
  });
});

it("a lease from the future is brought back to one lease from now, any other left as it is (T5)", () => {
  const future = leasedJob({ leaseUntilMs: NOW_MS + 10 * LEASE_MS });
  expect(rebased(future, NOW_MS).leaseUntilMs).toBe(NOW_MS + LEASE_MS);
  for (const job of [leasedJob(), leasedJob(lapsed), readyJob()]) expect(rebased(job, NOW_MS)).toBe(job);
});
