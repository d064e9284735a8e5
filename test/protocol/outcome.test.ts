import { describe, expect, it } from "vitest";
import type { JobRecord } from "../../src/protocol/job.ts";
import { isCurrent, refusal, type StaleReason } from "../../src/protocol/outcome.ts";
import { A, B, fence, gen, heldLease, leasedJob, NOW_MS, RESOURCE, readyJob } from "../support/records.ts";

const settledByA = { owner: A, generation: gen(1), operation: "complete" } as const;
const none = gen(0);

describe("the current owner (C5)", () => {
  it("is whoever matches owner and generation of a leased job, expired or not", () => {
    expect(isCurrent(leasedJob(), fence(), none, undefined)).toBe(true);
    expect(isCurrent(leasedJob({ leaseUntilMs: NOW_MS - 1 }), fence(), none, undefined)).toBe(true);
  });

  it.each([
    ["another owner", leasedJob(), fence({ owner: B }), none],
    ["an earlier generation", leasedJob({ generation: gen(2) }), fence(), none],
    ["a later generation", leasedJob(), fence({ generation: gen(2) }), none],
    ["a generation not above the epoch's start", leasedJob(), fence(), gen(1)],
    ["a ready job", readyJob({ generation: gen(1) }), fence(), none],
    ["an ended job", leasedJob({ state: "completed" }), fence(), none],
  ])("is not %s", (_, job, shown, epochStart) => {
    expect(isCurrent(job, shown, epochStart, undefined)).toBe(false);
  });

  it("is not a run whose resource another one has taken", () => {
    const job = leasedJob({ resource: RESOURCE, resourceGeneration: gen(5) });
    expect(isCurrent(job, fence(), none, heldLease())).toBe(true);
    expect(isCurrent(job, fence(), none, heldLease({ owner: B, generation: gen(6) }))).toBe(false);
  });
});

describe("refusal, in order of precedence (C9)", () => {
  it("is `already` for this fence's own settling by the same operation, also after the job was retried or claimed", () => {
    const ended = readyJob({ state: "completed", generation: gen(1), settled: settledByA });
    const later = leasedJob({ owner: B, generation: gen(3), settled: settledByA });
    for (const job of [ended, later])
      expect(refusal(job, fence(), "complete", none)).toEqual({ outcome: "already" });
  });

  it("is stale, not `already`, for another operation, another fence, and for what is no settling", () => {
    const ended = readyJob({ state: "completed", generation: gen(1), settled: settledByA });
    expect(refusal(ended, fence(), "fail", none).outcome).toBe("stale");
    expect(refusal(ended, fence(), undefined, none).outcome).toBe("stale");
    expect(refusal(ended, fence({ owner: B }), "complete", none).outcome).toBe("stale");
    expect(refusal(ended, fence({ generation: gen(0) }), "complete", none).outcome).toBe("stale");
  });

  it("is `gone` only when there is no record", () => {
    expect(refusal(undefined, fence(), "complete", none)).toEqual({ outcome: "gone" });
  });

  it("carries the present generation, the state and how the job ended", () => {
    const job = readyJob({ state: "failed", endReason: "final", generation: gen(4), raisedBy: "claim" });
    expect(refusal(job, fence(), "complete", none)).toEqual({
      outcome: "stale",
      generation: 4,
      state: "failed",
      endReason: "final",
      reason: "reclaimed",
    });
  });

  const raisedBy = (by: JobRecord["raisedBy"]): JobRecord => readyJob({ generation: gen(2), raisedBy: by });
  it.each<[StaleReason, JobRecord, number]>([
    ["reclaimed", raisedBy("claim"), 0],
    ["revoked", raisedBy("revoke"), 0],
    ["retried", raisedBy("retry"), 0],
    ["expired", raisedBy("expire"), 0],
    ["cancelled", raisedBy("cancel"), 0],
    ["healed", raisedBy("heal"), 0],
    ["healed", readyJob({ generation: gen(1), raisedBy: "heal" }), 0],
    ["settled", readyJob({ generation: gen(1), settled: { ...settledByA, operation: "release" } }), 0],
    ["ended", readyJob({ state: "completed", generation: gen(1), settled: settledByA }), 0],
    ["other_owner", leasedJob({ owner: B }), 0],
    [
      "other_owner",
      readyJob({ state: "completed", generation: gen(1), settled: { ...settledByA, owner: B } }),
      0,
    ],
    ["history", leasedJob(), 1],
    ["resource", leasedJob({ resource: RESOURCE, resourceGeneration: gen(5) }), 0],
    ["ahead", readyJob(), 0],
  ])("explains: %s", (reason, job, epochStart) => {
    expect(refusal(job, fence(), undefined, gen(epochStart))).toMatchObject({ outcome: "stale", reason });
  });
});
