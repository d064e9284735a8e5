/** What the conformance suites share: chapters of tests, declared with the caller's own test runner. */

import assert from "node:assert/strict";

/** The test runner's own functions: Vitest's, `node:test`'s, or any that work like them. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: () => Promise<void>): unknown;
}

/** A test that the subject cannot pass, with the reason. */
export interface Gap {
  readonly test: string;
  readonly because: string;
}

interface Named {
  readonly name: string;
}

/** Declares each test, or for a gap that the test fails: no gap outlives its reason. */
export function declareChapters<Test extends Named>(
  { describe, it }: TestRunner,
  title: string,
  chapters: readonly { readonly name: string; readonly tests: readonly Test[] }[],
  gaps: readonly Gap[],
  run: (test: Test) => Promise<void>,
): void {
  const names = chapters.flatMap(({ tests }) => tests.map(({ name }) => name));
  for (const { test } of gaps)
    assert.ok(names.includes(test), `there is no conformance test named ${JSON.stringify(test)}`);
  describe(title, () => {
    for (const { name: chapter, tests } of chapters) {
      if (tests.length === 0) continue;
      describe(chapter, () => {
        for (const test of tests) {
          const gap = gaps.find((gap) => gap.test === test.name);
          if (gap === undefined) it(test.name, () => run(test));
          else it(`(gap, because ${gap.because}) ${test.name}`, () => assert.rejects(run(test)));
        }
      });
    }
  });
}
