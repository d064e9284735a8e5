import { describe, expect, it } from "vitest";
import { duration, wholeNumber } from "../../src/cli/duration.ts";

describe("durations", () => {
  for (const [text, ms] of [
    ["250ms", 250],
    ["30s", 30_000],
    ["1.5s", 1_500],
    ["5m", 300_000],
    ["2 h", 7_200_000],
    ["1d", 86_400_000],
    ["1w", 604_800_000],
    ["0s", 0],
  ] as const) {
    it(`reads ${text} as ${ms} ms`, () => expect(duration(text)).toBe(ms));
  }

  for (const text of [
    "",
    "30",
    "-1s",
    "1y",
    "s",
    "1 fortnight",
    "NaNs",
    "1e3s",
    "30s 5m",
    `${"9".repeat(400)}s`,
  ]) {
    it(`refuses ${JSON.stringify(text.slice(0, 12))}`, () => expect(() => duration(text)).toThrow(/unit/));
  }
});

describe("whole numbers", () => {
  it("reads from the least one up", () => expect(wholeNumber(1)("1")).toBe(1));
  for (const text of ["0", "-1", "1.5", "ten", "", " 3", "0x10", "1e3", "9007199254740993"]) {
    it(`refuses ${JSON.stringify(text)}`, () =>
      expect(() => wholeNumber(1)(text)).toThrow(/whole number, 1 or more/));
  }
});
