import {
  type ConformanceHarness,
  type DestinationHarness,
  destinationConformance,
  storeConformance,
  type TestRunner,
} from "../../src/testing/index.ts";

/** Runs the suite on a store and tells which tests failed, instead of failing. */
export function failingTests(harness: ConformanceHarness): Promise<string[]> {
  return failing((runner) => storeConformance(runner, "recorded", harness));
}

/** The same for a destination. */
export function failingDestinationTests(harness: DestinationHarness): Promise<string[]> {
  return failing((runner) => destinationConformance(runner, "recorded", harness));
}

async function failing(declare: (runner: TestRunner) => void): Promise<string[]> {
  const bodies = new Map<string, () => Promise<void>>();
  declare({
    describe: (_, body) => body(),
    it: (name, body) => bodies.set(name, body),
  });
  const failing: string[] = [];
  for (const [name, body] of bodies) {
    try {
      await body();
    } catch {
      failing.push(name);
    }
  }
  return failing;
}
