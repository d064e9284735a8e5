import { type ConformanceHarness, storeConformance } from "../../src/testing/index.ts";

/** Runs the suite on a store and tells which tests failed, instead of failing. */
export async function failingTests(harness: ConformanceHarness): Promise<string[]> {
  const bodies = new Map<string, () => Promise<void>>();
  storeConformance(
    {
      describe: (_, body) => body(),
      it: (name, body) => bodies.set(name, body),
    },
    "recorded",
    harness,
  );
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
