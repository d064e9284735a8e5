import { describe, expect, it, vi } from "vitest";
import { replayLongHistories } from "../support/long-histories.ts";
import { memoryWorld } from "../support/memory-harness.ts";
import { replayHistories } from "../support/replay.ts";

// Thousands of steps, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 120_000 });

describe("the memory store answers as the protocol core does in", () => {
  it("every history of one job of four steps", async () => {
    expect((await replayHistories(memoryWorld(), 4, false)).histories).toBeGreaterThan(500);
  });

  it("every history of one job with a resource of four steps", async () => {
    expect((await replayHistories(memoryWorld(), 4, true)).histories).toBeGreaterThan(500);
  });

  it("long random histories", () => replayLongHistories(memoryWorld(), 100, 80));
});
