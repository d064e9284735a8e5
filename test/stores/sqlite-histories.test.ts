import { expect, it } from "vitest";
import { replayHistories } from "../support/replay.ts";
import { sqliteWorld } from "../support/sqlite-harness.ts";

async function replay(length: number, withResource: boolean): Promise<void> {
  const world = await sqliteWorld({ synchronous: "normal" });
  try {
    const { histories, steps } = await replayHistories(world, length, withResource);
    expect(histories).toBeGreaterThan(100);
  } finally {
    await world.close();
  }
}

it("the SQLite store answers every small history as the protocol core does", () => replay(4, false));

it("and so with a resource", () => replay(4, true));
