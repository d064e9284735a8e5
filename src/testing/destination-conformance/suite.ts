import { declareChapters, type TestRunner } from "../chapters.ts";
import { advanceChapter } from "./advance.ts";
import { atomicity } from "./atomicity.ts";
import { dedupe } from "./dedupe.ts";
import { dedupeRaces } from "./dedupe-races.ts";
import { durability } from "./durability.ts";
import type { DestinationChapter, DestinationHarness, DestinationTest } from "./harness.ts";
import { levelChapter } from "./level.ts";
import { namesChapter } from "./names.ts";
import { orderChapter } from "./order.ts";
import { pruning } from "./pruning.ts";
import { refusals } from "./refusals.ts";

/** The whole suite as data: for counting, and for runners of another kind. */
export const destinationChapters: readonly DestinationChapter[] = [
  orderChapter,
  refusals,
  atomicity,
  durability,
  advanceChapter,
  { name: "dedupe", tests: [...dedupe, ...dedupeRaces] },
  pruning,
  namesChapter,
  levelChapter,
];

/**
 * Declares the tests that every destination passes, one chapter of the contract (protocol section 5) after the other,
 * as far as its level claims them (D8). Each opens a world of its own. What a destination cannot do is listed in
 * `harness.gaps`: such a test must fail, and a gap that names no test of its level is an error.
 *
 * Passing shows that marks, effects and answers keep the rules in the orders and races that are named here, also over
 * the end of a process. It does not show what a power cut or a failover leaves of acknowledged writes.
 */
export function destinationConformance(runner: TestRunner, name: string, harness: DestinationHarness): void {
  const chapters = destinationChapters.map(({ name, tests }) => ({
    name,
    tests: tests.filter(({ needs }) => needs.every((claim) => harness.level.includes(claim))),
  }));
  declareChapters(runner, `${name} keeps the destination contract`, chapters, harness.gaps, (test) =>
    runTest(test, harness),
  );
}

async function runTest(test: DestinationTest, { open, level }: DestinationHarness): Promise<void> {
  const world = await open();
  try {
    await test.run({ ...world, level });
  } finally {
    await world.close();
  }
}
