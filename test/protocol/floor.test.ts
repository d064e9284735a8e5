import { describe, expect, it } from "vitest";
import { EPOCH_SIZE, epochStart, floorOf, nextEpoch, raised } from "../../src/protocol/floor.ts";
import { gen } from "../support/records.ts";

const HOUR_MS = 3_600_000;
const ORIGIN_MS = Date.UTC(2025, 0, 1);

describe("the floor", () => {
  it("is the epoch's start or the highest deleted generation, whichever is higher", () => {
    expect(floorOf({ epoch: 0, deletedGeneration: gen(0) })).toBe(0);
    expect(floorOf({ epoch: 0, deletedGeneration: gen(9) })).toBe(9);
    expect(floorOf({ epoch: 2, deletedGeneration: gen(9) })).toBe(2 * EPOCH_SIZE);
    expect(floorOf({ epoch: 2, deletedGeneration: gen(2 * EPOCH_SIZE + 9) })).toBe(2 * EPOCH_SIZE + 9);
  });

  it("a deleted lease makes no lease stale: only the epoch does", () => {
    expect(epochStart({ epoch: 1, deletedGeneration: gen(2 * EPOCH_SIZE) })).toBe(EPOCH_SIZE);
  });

  it("is overtaken by every raise", () => {
    expect([raised(gen(3), gen(0)), raised(gen(3), gen(3)), raised(gen(3), gen(10))]).toEqual([4, 4, 11]);
  });
});

describe("a raised epoch", () => {
  it("counts hours since 2025 by store time", () => {
    expect(nextEpoch(0, ORIGIN_MS + 100 * HOUR_MS + HOUR_MS - 1)).toBe(100);
  });

  it("is above the one before also within one hour, and when the clock was set back", () => {
    expect(nextEpoch(100, ORIGIN_MS + 100 * HOUR_MS)).toBe(101);
    expect(nextEpoch(100, ORIGIN_MS - HOUR_MS)).toBe(101);
  });

  it("leaves room for two hundred years of generations", () => {
    const epoch = nextEpoch(0, ORIGIN_MS + 200 * 365 * 24 * HOUR_MS);
    expect(raised(gen(0), epochStart({ epoch, deletedGeneration: gen(0) }))).toBe(epoch * EPOCH_SIZE + 1);
  });
});
