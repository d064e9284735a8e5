import { describe, expect, it } from "vitest";
import {
  acquire,
  isCurrentHolder,
  isFree,
  namedRefusal,
  rebasedLease,
  releasedLease,
  renewedLease,
  revokedLease,
} from "../../src/protocol/named-lease.ts";
import { A, B, gen, heldLease, LEASE_MS, NOW_MS, RESOURCE } from "../support/records.ts";

const byName = heldLease({ heldFor: null });
const fence = { name: RESOURCE, owner: A, generation: gen(5) };
const request = { name: RESOURCE, owner: B, leaseMs: LEASE_MS, heldFor: null };

describe("acquire", () => {
  it("is free to anybody when it never was, was given up, or has expired", () => {
    expect(
      [undefined, releasedLease(byName), { ...byName, leaseUntilMs: NOW_MS }].map((lease) =>
        isFree(lease, NOW_MS),
      ),
    ).toEqual([true, true, true]);
    expect(isFree(byName, NOW_MS)).toBe(false);
  });

  it("raises the generation above the last one and the floor", () => {
    expect(acquire(undefined, request, NOW_MS, gen(0))).toMatchObject({
      owner: B,
      generation: 1,
      leaseUntilMs: NOW_MS + LEASE_MS,
    });
    expect(acquire(releasedLease(byName), request, NOW_MS, gen(0)).generation).toBe(6);
    expect(acquire(releasedLease(byName), request, NOW_MS, gen(50)).generation).toBe(51);
  });
});

describe("the holder by name", () => {
  it("matches owner, generation and epoch, and holds it for no job", () => {
    expect(isCurrentHolder(byName, fence, gen(4))).toBe(true);
    expect(isCurrentHolder({ ...byName, leaseUntilMs: NOW_MS - 1 }, fence, gen(0))).toBe(true);
    expect(isCurrentHolder(byName, { ...fence, owner: B }, gen(0))).toBe(false);
    expect(isCurrentHolder(byName, { ...fence, generation: gen(4) }, gen(0))).toBe(false);
    expect(isCurrentHolder(byName, fence, gen(5))).toBe(false);
    expect(isCurrentHolder(heldLease(), fence, gen(0))).toBe(false);
    expect(isCurrentHolder(undefined, fence, gen(0))).toBe(false);
  });

  it("renews to one lease from now, and re-bases what starts in the future", () => {
    expect(renewedLease({ ...byName, leaseUntilMs: NOW_MS }, NOW_MS).leaseUntilMs).toBe(NOW_MS + LEASE_MS);
    expect(rebasedLease({ ...byName, leaseUntilMs: NOW_MS + 9 * LEASE_MS }, NOW_MS).leaseUntilMs).toBe(
      NOW_MS + LEASE_MS,
    );
    expect(rebasedLease(byName, NOW_MS)).toBe(byName);
  });

  it("gives it up with its generation; only a revoke raises it", () => {
    expect(releasedLease(byName)).toMatchObject({
      owner: null,
      leaseUntilMs: null,
      generation: 5,
      lastOwner: A,
    });
    expect(revokedLease(byName, gen(0))).toMatchObject({ owner: null, generation: 6, lastOwner: null });
  });
});

describe("a refusal", () => {
  it("of a second release is `already`, and of anything else stale with the present generation", () => {
    const free = releasedLease(byName);
    expect(namedRefusal(free, fence, "release")).toEqual({ outcome: "already" });
    expect(namedRefusal(free, fence, "renew")).toEqual({ outcome: "stale", generation: 5, owner: null });
    expect(namedRefusal(free, { ...fence, owner: B }, "release").outcome).toBe("stale");
    expect(namedRefusal(acquire(free, request, NOW_MS, gen(0)), fence, "release")).toEqual({
      outcome: "stale",
      generation: 6,
      owner: B,
    });
    expect(namedRefusal(undefined, fence, "renew")).toEqual({ outcome: "gone" });
  });
});
