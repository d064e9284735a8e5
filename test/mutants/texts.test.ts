import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { SOURCE_MUTANTS } from "./all.ts";
import { filesOf, mutated } from "./source-mutant.ts";

it.each(SOURCE_MUTANTS)("the text that is to be replaced is there, once: $name", (mutant) => {
  for (const file of filesOf(mutant)) {
    const source = readFileSync(file, "utf8");
    expect(mutated(mutant, file, source)).not.toBe(source);
  }
});

it("no two mutants have one name", () => {
  expect(new Set(SOURCE_MUTANTS.map(({ name }) => name)).size).toBe(SOURCE_MUTANTS.length);
});
