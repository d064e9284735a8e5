import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { variants } from "../../scripts/model.js";
import { MUTANTS } from "../simulation/mutants.ts";
import { SOURCE_MUTANTS } from "./all.ts";
import { MISTAKES } from "./mistakes.ts";
import { testsOf } from "./source-mutant.ts";

const breaking = variants().flatMap(({ name, expected }) => (expected.breaks === undefined ? [] : [name]));
const sources = SOURCE_MUTANTS.map(({ name }) => name);

it.each(MISTAKES)("has a mutant, and all that stand for it are there: $name", (mistake) => {
  expect(breaking).toEqual(expect.arrayContaining([...mistake.variants]));
  expect(Object.keys(MUTANTS)).toEqual(expect.arrayContaining([...mistake.simulated]));
  expect(sources).toEqual(expect.arrayContaining([...mistake.sources]));
  expect(mistake.sources).not.toEqual([]);
});

it("no mutant stands for two mistakes", () => {
  for (const named of ["variants", "simulated", "sources"] as const) {
    const all = MISTAKES.flatMap((mistake) => mistake[named]);
    expect(new Set(all).size).toBe(all.length);
  }
});

it("whoever is asked of the processes says which invariants have to break, and nobody else does", () => {
  for (const { name, tiers, chaos } of SOURCE_MUTANTS)
    expect(chaos !== undefined && chaos.breaks.length > 0, name).toBe(tiers.includes("processes"));
});

it("the tests that have to find a mutant out are there", () => {
  for (const mutant of SOURCE_MUTANTS)
    for (const tier of mutant.tiers)
      for (const file of testsOf(mutant, tier))
        expect(existsSync(file), `${mutant.name}: ${file}`).toBe(true);
});
