import { describe, expect, it, vi } from "vitest";
import { drawnVersions } from "../support/drawn-stores.ts";
import { replayLongHistories } from "../support/long-histories.ts";
import { optional } from "../support/optional.ts";
import { type PostgresWorld, postgresWorld } from "../support/postgres-harness.ts";
import { missingPostgres, type PostgresVersion } from "../support/postgres-server.ts";
import { replayHistories } from "../support/replay.ts";

// Thousands of steps, on a machine that may be busy with other tests.
vi.setConfig({ testTimeout: 120_000 });

async function inWorld<T>(version: PostgresVersion, body: (world: PostgresWorld) => Promise<T>): Promise<T> {
  const world = await postgresWorld(version);
  try {
    return await body(world);
  } finally {
    await world.close();
  }
}

for (const version of drawnVersions("histories")) {
  optional(`histories on PostgreSQL ${version}`, missingPostgres(version), () => {
    describe("the store answers as the protocol core does in", () => {
      it("every history of one job of two steps", async () => {
        const { histories } = await inWorld(version, (world) => replayHistories(world, 2, false));
        expect(histories).toBeGreaterThan(10);
      });

      it("every history of one job with a resource of two steps", async () => {
        const { histories } = await inWorld(version, (world) => replayHistories(world, 2, true));
        expect(histories).toBeGreaterThan(10);
      });

      it("long random histories", () => inWorld(version, (world) => replayLongHistories(world, 30, 60)));
    });
  });
}
