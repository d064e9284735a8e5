import { describe, expect, it } from "vitest";
import {
  extendedUntilMs,
  holdsResource,
  isEnded,
  isExpired,
  JOB_STATES,
  startsInFuture,
  tokenOf,
} from "../../src/protocol/job.ts";
import { A, B, gen, heldLease, ID, LEASE_MS, leasedJob, NOW_MS, RESOURCE } from "../support/records.ts";

const MARGIN_MS = LEASE_MS / 10;

describe("a lease", () => {
  it("has expired from the very millisecond at which it ends", () => {
    expect(isExpired({ leaseUntilMs: NOW_MS }, NOW_MS)).toBe(true);
    expect(isExpired({ leaseUntilMs: NOW_MS + 1 }, NOW_MS)).toBe(false);
    expect(isExpired({ leaseUntilMs: null }, NOW_MS)).toBe(false);
  });

  it("starts in the future only beyond the margin (T5)", () => {
    const lease = (aheadMs: number) => ({ leaseUntilMs: NOW_MS + LEASE_MS + aheadMs, leaseMs: LEASE_MS });
    expect(startsInFuture(lease(MARGIN_MS), NOW_MS)).toBe(false);
    expect(startsInFuture(lease(MARGIN_MS + 1), NOW_MS)).toBe(true);
    expect(startsInFuture({ leaseUntilMs: NOW_MS + 311, leaseMs: 250 }, NOW_MS)).toBe(true);
    expect(startsInFuture({ leaseUntilMs: NOW_MS + 300, leaseMs: 250 }, NOW_MS)).toBe(false);
    expect(startsInFuture({ leaseUntilMs: null, leaseMs: 250 }, NOW_MS)).toBe(false);
  });

  it("is extended to one lease from now, never shortened but by T5", () => {
    const extended = (leaseUntilMs: number): number =>
      extendedUntilMs({ leaseUntilMs, leaseMs: LEASE_MS }, NOW_MS) - NOW_MS;
    expect(extended(NOW_MS - 1)).toBe(LEASE_MS);
    expect(extended(NOW_MS + LEASE_MS + 10)).toBe(LEASE_MS + 10);
    expect(extended(NOW_MS + LEASE_MS + MARGIN_MS + 1)).toBe(LEASE_MS);
  });
});

it("completed, failed and cancelled are ends; ready and leased are not", () => {
  expect(JOB_STATES.filter((state) => isEnded({ state }))).toEqual(["completed", "failed", "cancelled"]);
});

describe("a run's token", () => {
  it("is on the job's own line without a resource", () => {
    const job = { ...leasedJob(), owner: A };
    expect(tokenOf(job)).toEqual({ line: `job:${ID}`, generation: 1, owner: A });
  });

  it("is on the resource's line, with its generation, when the run holds one", () => {
    const job = { ...leasedJob({ resource: RESOURCE, resourceGeneration: gen(5) }), owner: A };
    expect(tokenOf(job)).toEqual({ line: `lease:${RESOURCE}`, generation: 5, owner: A });
  });
});

it("a run holds its resource while owner and generation of the named lease are its own, whatever the time", () => {
  const job = leasedJob({ resource: RESOURCE, resourceGeneration: gen(5) });
  expect(holdsResource(leasedJob(), undefined)).toBe(true);
  expect(holdsResource(job, heldLease())).toBe(true);
  expect(holdsResource(job, heldLease({ leaseUntilMs: NOW_MS - 1 }))).toBe(true);
  expect(holdsResource(job, heldLease({ owner: B }))).toBe(false);
  expect(holdsResource(job, heldLease({ generation: gen(6) }))).toBe(false);
  expect(holdsResource(job, undefined)).toBe(false);
});
