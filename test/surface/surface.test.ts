import { describe, expect, it } from "vitest";
import { declaredNames, surfaces } from "../../scripts/surface.js";

describe("the public surface", async () => {
  for (const { entry, current, committed } of await surfaces()) {
    // Meant? Then `npm run surface:update`. Adding a name is a decision; removing one is a major version.
    it(`of ${entry} is what was committed`, () => expect(current).toBe(committed));
  }
});

describe("the names of a declaration file", () => {
  it("are those of its lists and its declarations, without comments", () => {
    const text = `
/** A class.
export { inAComment } from "./no.js"; */
export declare class Door<T> { a: string; }
export declare abstract class Base {}
export interface Options { readonly export: string }
export declare const one: number;
export declare function two(text: string): void;
export type Three = "a" | "b";
export { four, five as six } from "./four.js";
export type { Seven } from "./seven.js";
export {
  type Eight,
  nine,
} from "./eight.js";
export {};
`;
    const names = [..."Door Base Options one two Three four six Seven Eight nine".split(" ")];
    expect([...declaredNames(text, "a.d.ts")].sort()).toEqual(names.sort());
  });

  it("are refused when a form is not known", () => {
    expect(() => declaredNames('export * from "./a.js";', "a.d.ts")).toThrow(
      'cannot read `export * from "./a.js";`',
    );
    expect(() => declaredNames("export default 1;", "a.d.ts")).toThrow("cannot read");
  });
});
