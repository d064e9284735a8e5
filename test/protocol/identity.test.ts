import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/errors.ts";
import { generation, jobId, jobLine, leaseLine, owner } from "../../src/protocol/identity.ts";
import { ID } from "../support/records.ts";

describe("generation", () => {
  it("reaches from 0 to 2^53 − 1", () => {
    expect([generation(0), generation(Number.MAX_SAFE_INTEGER)]).toEqual([0, 2 ** 53 - 1]);
  });

  it.each([-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])(
    "refuses %s, which could compare as equal to another",
    (value) => {
      expect(() => generation(value)).toThrow(InvalidArgumentError);
    },
  );

  it("refuses what is no number", () => {
    for (const value of ["1", 1n, null, undefined])
      expect(() => generation(value as never)).toThrow(InvalidArgumentError);
  });
});

describe("jobId", () => {
  it("is one id whatever the case in which it is written", () => {
    expect(jobId(ID.toUpperCase())).toBe(ID);
  });

  it.each(["", "42", `${ID} `, `{${ID}}`, ID.slice(1)])("refuses %j", (text) => {
    expect(() => jobId(text)).toThrow(InvalidArgumentError);
  });
});

describe("owner", () => {
  it("takes 1 to 255 bytes", () => {
    expect([owner("x"), owner("é".repeat(127))]).toEqual(["x", "é".repeat(127)]);
  });

  it.each(["", "x".repeat(256), "é".repeat(128)])("refuses %j", (text) => {
    expect(() => owner(text)).toThrow(InvalidArgumentError);
  });
});

it("the line of a job and of a lease of the same name are two", () => {
  expect(jobLine(ID)).toBe(`job:${ID}`);
  expect(leaseLine(ID)).toBe(`lease:${ID}`);
});
