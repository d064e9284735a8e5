import { describe, expect, it, vi } from "vitest";
import type { ConformanceWorld } from "../../src/testing/index.ts";
import { replayLongHistories } from "../support/long-histories.ts";
import { replayHistories } from "../support/replay.ts";
import { sqliteWorld } from "../support/sqlite-harness.ts";

// Thousands of steps, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 120_000 });

async function inWorld<T>(body: (world: ConformanceWorld) => Promise<T>): Promise<T> {
  // Power cuts are no part of these histories.
  const world = await sqliteWorld({ synchronous: "normal" });
  try {
    return await body(world);
  } finally {
    await world.close();
  }
}

describe("the SQLite store answers as the protocol core does in", () => {
  it("every history of one job of three steps", async () => {
    expect((await inWorld((world) => replayHistories(world, 3, false))).histories).toBeGreaterThan(100);
  });

  it("every history of one job with a resource of three steps", async () => {
    expect((await inWorld((world) => replayHistories(world, 3, true))).histories).toBeGreaterThan(200);
  });

  it("long random histories", () => inWorld((world) => replayLongHistories(world, 60, 60)));
});
