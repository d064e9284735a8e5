import { declareChapters, type TestRunner } from "../chapters.ts";
import { batches } from "./batches.ts";
import { callersTransaction } from "./callers-transaction.ts";
import { cancelRevokeRetry } from "./cancel-revoke-retry.ts";
import { claimChapter } from "./claim.ts";
import { clocks } from "./clocks.ts";
import { dependencies } from "./dependencies.ts";
import { enqueueChapter } from "./enqueue.ts";
import { followUpChapter } from "./follow-up.ts";
import type { Chapter, ConformanceHarness, ConformanceTest } from "./harness.ts";
import { limits } from "./limits.ts";
import { lostReplies } from "./lost-replies.ts";
import { migrations } from "./migrations.ts";
import { namedLeasesAndResources } from "./named-leases-and-resources.ts";
import { payloadsAndNames } from "./payloads-and-names.ts";
import { queueLimits } from "./queue-limits.ts";
import { renewChapter } from "./renew.ts";
import { schedules } from "./schedules.ts";
import { settleChapter } from "./settle.ts";
import { staleOwners } from "./stale-owners.ts";
import { stepsChapter } from "./steps.ts";
import { uniqueKeys } from "./unique-keys.ts";
import { wakeUpsChapter } from "./wake-ups.ts";

/** The whole suite as data: for counting, and for runners of another kind. */
export const conformanceChapters: readonly Chapter[] = [
  enqueueChapter,
  wakeUpsChapter,
  claimChapter,
  renewChapter,
  settleChapter,
  staleOwners,
  lostReplies,
  clocks,
  cancelRevokeRetry,
  namedLeasesAndResources,
  uniqueKeys,
  stepsChapter,
  followUpChapter,
  dependencies,
  batches,
  callersTransaction,
  payloadsAndNames,
  limits,
  queueLimits,
  schedules,
  migrations,
];

/**
 * Declares the tests that every store passes, one chapter of the protocol after the other. Each opens a world of its
 * own; no time passes in any. What a store cannot do is listed in `harness.gaps`: such a test must fail, so that no gap
 * outlives its reason, and one that names no test is an error.
 *
 * Passing shows that the store keeps the protocol's rules one call at a time and in the races that are named here. It
 * does not show that acknowledged writes survive a crash, nor what happens on a network.
 */
export function storeConformance(runner: TestRunner, name: string, harness: ConformanceHarness): void {
  declareChapters(runner, `${name} keeps the protocol`, conformanceChapters, harness.gaps, (test) =>
    runTest(test, harness),
  );
}

async function runTest(test: ConformanceTest, harness: ConformanceHarness): Promise<void> {
  const world = await harness.open();
  try {
    await test.run({ ...world, timePrecisionMs: harness.timePrecisionMs });
  } finally {
    await world.close();
  }
}
