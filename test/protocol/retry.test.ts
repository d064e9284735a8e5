import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/errors.ts";
import { type Backoff, checkBackoff, DEFAULT_BACKOFF, retryDelayMs } from "../../src/protocol/retry.ts";
import { seed } from "../support/seed.ts";

const ATTEMPTS = [
  1,
  2,
  31,
  32,
  53,
  54,
  63,
  64,
  65,
  1_024,
  1e9,
  Number.MAX_SAFE_INTEGER,
  Number.POSITIVE_INFINITY,
];

const backoffs = fc.record<Backoff>({
  kind: fc.constantFrom("fixed", "exponential"),
  baseMs: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 3_600_000 }),
    fc.double({ min: 0, max: 1e15, noNaN: true }),
  ),
  capMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
  jitter: fc.constantFrom("none", "full"),
});
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("a retry delay", () => {
  it("is finite, whole, not negative and not above the cap, for any attempt", () => {
    fc.assert(
      fc.property(
        backoffs,
        random,
        fc.oneof(fc.constantFrom(...ATTEMPTS), fc.nat()),
        (backoff, drawn, attempt) => {
          const delayMs = retryDelayMs(backoff, attempt, drawn);
          expect(Number.isSafeInteger(delayMs)).toBe(true);
          expect(delayMs).toBeGreaterThanOrEqual(0);
          expect(delayMs).toBeLessThanOrEqual(backoff.capMs);
        },
      ),
      { seed },
    );
  });

  it("never falls from one attempt to the next without jitter", () => {
    fc.assert(
      fc.property(backoffs, (backoff) => {
        const delays = ATTEMPTS.map((attempt) => retryDelayMs({ ...backoff, jitter: "none" }, attempt, 0));
        expect(delays).toEqual(delays.toSorted((a, b) => a - b));
      }),
      { seed },
    );
  });

  it("doubles from its base up to the cap", () => {
    const backoff: Backoff = { kind: "exponential", baseMs: 1_000, capMs: 3_600_000, jitter: "none" };
    expect([1, 2, 3, 12, 13, 1e9].map((attempt) => retryDelayMs(backoff, attempt, 0))).toEqual([
      1_000, 2_000, 4_000, 2_048_000, 3_600_000, 3_600_000,
    ]);
  });

  it("is the same each time when fixed", () => {
    const backoff: Backoff = { kind: "fixed", baseMs: 700, capMs: 3_600_000, jitter: "none" };
    expect(ATTEMPTS.every((attempt) => retryDelayMs(backoff, attempt, 0) === 700)).toBe(true);
  });

  it("with full jitter lies between 0 and the delay without", () => {
    expect([0, 0.5, 1 - 2 ** -53].map((drawn) => retryDelayMs(DEFAULT_BACKOFF, 3, drawn))).toEqual([
      0, 2_000, 3_999,
    ]);
  });
});

describe("a backoff is checked", () => {
  it("and taken when it can be used", () => {
    fc.assert(
      fc.property(backoffs, (backoff) => checkBackoff(backoff)),
      { seed },
    );
    checkBackoff(DEFAULT_BACKOFF);
  });

  it.each([
    { baseMs: -1 },
    { baseMs: Number.NaN },
    { baseMs: Number.POSITIVE_INFINITY },
    { capMs: -1 },
    { capMs: 2 ** 53 },
    { kind: "linear" },
    { jitter: "some" },
  ])("and refused with %j, naming the member", (wrong) => {
    const [member] = Object.keys(wrong);
    const check = (): void => checkBackoff({ ...DEFAULT_BACKOFF, ...(wrong as Partial<Backoff>) });
    expect(check).toThrow(InvalidArgumentError);
    expect(check).toThrow(`backoff.${member}`);
  });
});
