import { describe, expect, it } from "vitest";
import { cancel, heal, mayDelete, retry, revocationToken, revoke } from "../../src/protocol/control.ts";
import { EPOCH_SIZE } from "../../src/protocol/floor.ts";
import type { Owner } from "../../src/protocol/identity.ts";
import { gen, heldLease, ID, leasedJob, NOW_MS, RESOURCE, readyJob } from "../support/records.ts";

const floor = gen(0);
const ended = readyJob({
  state: "failed",
  endReason: "final",
  generation: gen(3),
  attempt: 5,
  expiredCount: 1,
  heals: 2,
  error: '"no"',
});
const withResource = leasedJob({ resource: RESOURCE, resourceGeneration: gen(5) });

describe("cancel (C13)", () => {
  it("ends a ready job, and only asks a leased one", () => {
    expect(cancel(readyJob(), NOW_MS).job).toMatchObject({
      state: "cancelled",
      endReason: "cancelled",
      finishedAtMs: NOW_MS,
    });
    const asked = cancel(leasedJob(), NOW_MS);
    expect(asked.job).toEqual(leasedJob({ cancelRequested: true }));
    expect(asked.answer).toMatchObject({ outcome: "applied", pending: true });
  });

  it("is `already` the second time, and a conflict after another end", () => {
    expect(cancel(leasedJob({ cancelRequested: true }), NOW_MS)).toEqual({
      job: undefined,
      answer: { outcome: "already", state: "leased" },
    });
    expect(cancel(readyJob({ state: "cancelled" }), NOW_MS).answer.outcome).toBe("already");
    expect(cancel(ended, NOW_MS)).toMatchObject({
      job: undefined,
      answer: { outcome: "conflict", state: "failed" },
    });
  });
});

describe("revoke (C13)", () => {
  it("raises the job, takes its owner and gives the attempt back", () => {
    const { job, lease } = revoke(leasedJob(), undefined, NOW_MS, gen(40));
    expect(job).toMatchObject({
      state: "ready",
      generation: 41,
      raisedBy: "revoke",
      owner: null,
      attempt: 0,
      runAtMs: null,
    });
    expect(lease).toBeUndefined();
  });

  it("raises and frees the resource that this run holds, and no other's", () => {
    const freed = revoke(withResource, heldLease(), NOW_MS, floor).lease;
    expect(freed).toMatchObject({ owner: null, heldFor: null, generation: 6, lastOwner: null });
    expect(revoke(withResource, heldLease({ generation: gen(6) }), NOW_MS, floor).lease).toBeUndefined();
    expect(revoke(withResource, heldLease({ heldFor: null }), NOW_MS, floor).lease).toBeUndefined();
  });

  it("ends a job with a pending cancel as cancelled", () => {
    const { job } = revoke(leasedJob({ cancelRequested: true }), undefined, NOW_MS, floor);
    expect(job).toMatchObject({
      state: "cancelled",
      generation: 2,
      cancelRequested: false,
      finishedAtMs: NOW_MS,
    });
  });

  it("is a conflict where nobody holds a lease", () => {
    for (const job of [readyJob(), ended])
      expect(revoke(job, undefined, NOW_MS, floor)).toMatchObject({
        job: undefined,
        answer: { outcome: "conflict" },
      });
  });

  it("gives a token on the line that destinations know", () => {
    const nobody = "nobody" as Owner;
    expect(revocationToken(leasedJob({ generation: gen(2) }), undefined, nobody)).toEqual({
      line: `job:${ID}`,
      generation: 2,
      owner: nobody,
    });
    expect(revocationToken(withResource, heldLease({ generation: gen(6) }), nobody).line).toBe(
      `lease:${RESOURCE}`,
    );
  });
});

describe("retry (C18)", () => {
  it("makes an ended job ready, raised, with its attempts anew", () => {
    expect(retry(ended, false, false, floor).job).toMatchObject({
      state: "ready",
      generation: 4,
      raisedBy: "retry",
      attempt: 0,
      expiredCount: 0,
      heals: 0,
      run: 1,
      error: null,
      endReason: null,
      finishedAtMs: null,
    });
  });

  it("begins a new run number only with `again`", () => {
    expect(retry(ended, true, false, floor).job?.run).toBe(2);
  });

  it("is a conflict for what has not ended, and while the key is taken", () => {
    expect(retry(leasedJob(), false, false, floor).answer.outcome).toBe("conflict");
    expect(retry({ ...ended, uniqueKey: "k" }, false, true, floor)).toMatchObject({
      job: undefined,
      answer: { outcome: "conflict" },
    });
  });
});

it("a leased job may not be deleted, expired or not; any other may (C14)", () => {
  expect(mayDelete(leasedJob({ leaseUntilMs: NOW_MS - 1 }))).toBe(false);
  expect([readyJob(), ended].map(mayDelete)).toEqual([true, true]);
});

describe("heal (C19)", () => {
  it("lifts the generation to the mark or the floor, whichever is higher, and returns the attempt", () => {
    const { job } = heal(leasedJob(), undefined, gen(30), NOW_MS, 0, floor);
    expect(job).toMatchObject({
      state: "ready",
      generation: 30,
      raisedBy: "heal",
      attempt: 0,
      heals: 1,
      owner: null,
    });
    expect(heal(leasedJob(), undefined, gen(30), NOW_MS, 0, gen(99)).job?.generation).toBe(99);
    expect(
      heal(leasedJob({ generation: gen(50) }), undefined, gen(30), NOW_MS, 0, floor).job?.generation,
    ).toBe(50);
  });

  it("with a resource lifts the resource's generation, and the job's only to the floor", () => {
    const healed = heal(withResource, heldLease(), gen(30), NOW_MS, 0, floor);
    expect(healed.lease).toMatchObject({ owner: null, generation: 30, heals: 1 });
    expect(healed.job).toMatchObject({ generation: 1, resourceGeneration: null });
  });

  it("takes a mark of its own epoch, and leaves one of a later epoch to a person", () => {
    expect(heal(leasedJob(), undefined, gen(EPOCH_SIZE - 1), NOW_MS, 0, floor).answer.outcome).toBe(
      "applied",
    );
    expect(heal(leasedJob(), undefined, gen(EPOCH_SIZE), NOW_MS, 0, floor)).toEqual({
      answer: { outcome: "too_high", generation: 1 },
    });
  });

  it("fails the job the third time, and ends one with a pending cancel as cancelled", () => {
    expect(heal(leasedJob({ heals: 2 }), undefined, gen(30), NOW_MS, 0, floor).job).toMatchObject({
      state: "failed",
      endReason: "mark",
    });
    expect(heal(leasedJob({ cancelRequested: true }), undefined, gen(30), NOW_MS, 0, floor).job?.state).toBe(
      "cancelled",
    );
  });
});
