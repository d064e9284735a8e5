import { describe, expect, it } from "vitest";
import { conformanceChapters, storeConformance } from "../../src/testing/index.ts";
import { BROKEN } from "../support/broken-stores.ts";
import { memoryHarness, memoryStore, memoryWorld } from "../support/memory-harness.ts";
import { failingTests } from "../support/record-conformance.ts";

/** The test that is there for each fault; others may fail besides. */
const CAUGHT_BY: Readonly<Record<string, string>> = {
  "completion ignores the generation":
    "the same process reclaims its own expired job, and its old handle is refused everything",
  "completion ignores the owner": "the current generation under another owner's name is refused everything",
  "reclaim does not raise": "C2 a reclaim raises the generation and says who held the job before",
  "steps ignore the fence": "C8 a replaced owner writes no step, neither a new one nor over one of its own",
  "a pruning leaves the steps":
    "C14 steps go with their job, and one that is enqueued under its id again has none",
  "claim takes unexpired leases": "C2 leaves a lease alone that has not expired",
  "claim takes blocked jobs": "a job runs after all that it waits for have completed, not before",
};

describe("the suite catches a store whose", () => {
  for (const [fault, broken] of Object.entries(BROKEN)) {
    it(fault, async () => {
      const failing = await failingTests({
        ...memoryHarness,
        open: async () => {
          const sound = memoryStore();
          const store = broken(sound);
          return { ...memoryWorld(sound), store, another: async () => store };
        },
      });
      expect(failing).toContain(CAUGHT_BY[fault]);
    });
  }
});

describe("the suite itself", () => {
  it("finds nothing wrong with the sound store, which the faults are made from", async () => {
    expect(await failingTests(memoryHarness)).toEqual([]);
  });

  it("has one chapter for each of its subjects, and no two tests of one name", () => {
    const names = conformanceChapters.flatMap(({ tests }) => tests.map(({ name }) => name));
    expect(conformanceChapters.map(({ name }) => name)).toEqual([
      "enqueue",
      "wake-ups of takers",
      "claim",
      "renew",
      "settle",
      "stale owners",
      "lost replies",
      "clocks",
      "cancel, revoke, retry",
      "named leases and resources",
      "unique keys",
      "steps",
      "follow-up",
      "dependencies",
      "batches",
      "caller's transaction",
      "payloads and names",
      "limits",
      "limits of queues",
      "schedules",
      "migrations",
    ]);
    expect(new Set(names).size).toBe(names.length);
  });

  it("refuses a gap that names no test", () => {
    const gaps = [{ test: "lets time pass", because: "it cannot" }];
    const declare = (): void =>
      storeConformance({ describe: () => {}, it: () => {} }, "x", { ...memoryHarness, gaps });
    expect(declare).toThrow('there is no conformance test named "lets time pass"');
  });

  it("fails for a gap that is none", async () => {
    const gaps = [...memoryHarness.gaps, { test: "C5 never shortens a lease", because: "it is said to" }];
    const failing = await failingTests({ ...memoryHarness, gaps });
    expect(failing).toEqual(["(gap, because it is said to) C5 never shortens a lease"]);
  });
});
