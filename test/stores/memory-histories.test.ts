import { expect, it } from "vitest";
import { memoryWorld } from "../support/memory-harness.ts";
import { replayHistories } from "../support/replay.ts";

it("the memory store answers every small history as the protocol core does", async () => {
  const { histories, steps } = await replayHistories(memoryWorld(), 4, false);
  expect(histories).toBeGreaterThan(500);
});

it("and so with a resource", async () => {
  const { histories, steps } = await replayHistories(memoryWorld(), 4, true);
  expect(histories).toBeGreaterThan(500);
});
