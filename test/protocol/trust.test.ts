import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/errors.ts";
import {
  checkLeaseMs,
  defaultMarginMs,
  earliestEndMs,
  MAX_LEASE_MS,
  remainingTrustMs,
  type Trust,
  trustState,
} from "../../src/protocol/trust.ts";

const sent = { monotonicMs: 1_000, wallMs: 1_700_000_000_000 };
const trust: Trust = { sent, leaseMs: 30_000, marginMs: 3_000 };
const later = (monotonicMs: number, wallMs = monotonicMs) => ({
  monotonicMs: sent.monotonicMs + monotonicMs,
  wallMs: sent.wallMs + wallMs,
});

describe("trust (T2, T3)", () => {
  it("lasts a lease less the margin, counted from before the request", () => {
    expect(trustState(trust, later(0))).toBe("held");
    expect(trustState(trust, later(26_999))).toBe("held");
    expect(trustState(trust, later(27_000))).toBe("ended");
    expect(remainingTrustMs(trust, later(26_999))).toBe(1);
    expect(remainingTrustMs(trust, later(30_000))).toBe(-3_000);
  });

  it("ends by whichever clock is further ahead", () => {
    expect(trustState(trust, later(25_000, 27_500))).toBe("ended");
    expect(trustState(trust, later(27_500, 25_000))).toBe("ended");
    expect(remainingTrustMs(trust, later(1_000, 4_000))).toBe(23_000);
  });

  it("is unknown while the clocks have drifted apart by more than the margin, either way", () => {
    expect(trustState(trust, later(1_000, 4_000))).toBe("held");
    expect(trustState(trust, later(1_000, 4_001))).toBe("unknown");
    expect(trustState(trust, later(1_000, -2_001))).toBe("unknown");
    expect(trustState(trust, later(1_000, 3_600_000))).toBe("unknown");
  });

  it("ends by the monotonic clock also while the clocks disagree", () => {
    expect(trustState(trust, later(27_000, -3_600_000))).toBe("ended");
  });

  it("never ends before its earliest end, whatever the wall clock says, and can end there", () => {
    const passed = fc.integer({ min: 0, max: 40_000 });
    const wall = fc.oneof(passed, fc.integer({ min: -3_600_000, max: 3_600_000 }));
    fc.assert(
      fc.property(passed, wall, (monotonicMs, wallMs) => {
        const now = later(monotonicMs, wallMs);
        expect(trustState(trust, now) === "ended" && now.monotonicMs < earliestEndMs(trust)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
    expect(trustState(trust, later(24_000, 27_000))).toBe("ended");
    expect(earliestEndMs(trust)).toBe(later(24_000).monotonicMs);
  });
});

describe("a lease's length", () => {
  it("has a margin of a tenth, 50 ms at least", () => {
    expect([250, 500, 30_000].map(defaultMarginMs)).toEqual([50, 50, 3_000]);
  });

  it("is taken from 250 ms, or five margins, to thirty days", () => {
    for (const leaseMs of [250, 30_000, MAX_LEASE_MS]) expect(() => checkLeaseMs(leaseMs)).not.toThrow();
    for (const leaseMs of [249, 0, -1, 250.5, MAX_LEASE_MS + 1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => checkLeaseMs(leaseMs)).toThrow(InvalidArgumentError);
    }
    expect(() => checkLeaseMs(4_999, 1_000)).toThrow(InvalidArgumentError);
    expect(() => checkLeaseMs(5_000, 1_000)).not.toThrow();
  });
});
