/** The formal model: every variant of every text in spec/, each searched to its end, against spec/variants.md. */

import { beforeAll, describe, expect, it, vi } from "vitest";
import { difference, outcomeOf, search, twoAtATime, variants } from "../../scripts/model.js";
import { variantsOf } from "../../scripts/model-variants.js";
import { missingCommand, optional } from "../support/optional.ts";

// A search has no time-out of its own, and each waits for those before it.
vi.setConfig({ testTimeout: 600_000 });

const searched = variants().filter(({ long }) => !long);

function missingTools(): string | undefined {
  const missing = missingCommand("spin") ?? missingCommand("gcc");
  return missing && `${missing} (apt-get install spin gcc libc6-dev)`;
}

optional("the model", missingTools(), () => {
  const searches = new Map<string, ReturnType<typeof search>>();
  beforeAll(() => {
    const started = twoAtATime(searched, (variant) => search(variant));
    for (const [at, variant] of searched.entries()) searches.set(variant.name, started[at]!);
  });

  for (const variant of searched) {
    const { text, name, expected } = variant;
    const what = expected.breaks === undefined ? "holds in all its states" : `breaks ${expected.breaks}`;
    it(`${text}, ${name}: ${what}`, async () => {
      const { outcome, story } = await searches.get(name)!;
      expect(difference(outcome, expected)).toBeUndefined();
      if (expected.breaks !== undefined) expect(story.length).toBeGreaterThan(0);
    });
  }

  it("a search that was cut short is told from one that holds", async () => {
    const { outcome } = await search(named("advance-read-write"), { depth: 20 });
    expect(outcome.unfinished).toBe("max search depth too small");
  });

  it("a protocol that is broken where it should hold is told, with the way there", async () => {
    const { outcome, story } = await search({ ...named("no-fence"), expected: { breaks: "I1" } });
    expect(difference(outcome, { states: 6_198 })).toBe("expected: holds, 6,198 states; seen: breaks I7");
    expect(story.at(-1)).toMatch(/^the destination admits/);
  });
});

describe("what is expected of the model", () => {
  it("differs from what was seen by one state, another invariant, or a broken protocol that holds", () => {
    expect(difference({ states: 7 }, { states: 7 })).toBeUndefined();
    expect(difference({ states: 7 }, { states: 8 })).toBeDefined();
    expect(difference({ breaks: "I7" }, { breaks: "I8" })).toBeDefined();
    expect(difference({ states: 7 }, { breaks: "I7" })).toBeDefined();
    expect(difference({ unfinished: "out of memory" }, { states: 7 })).toBeDefined();
  });

  it("is not met by output without a count, or by a deadlock", () => {
    expect(outcomeOf("")).toEqual({ unfinished: "no count of states" });
    expect(outcomeOf("pan:1: invalid end state (at depth 3)\n")).toEqual({ breaks: "end state" });
  });

  it("has a broken protocol for each invariant that a text asks for", () => {
    const broken = new Set(variants().map(({ expected }) => expected.breaks));
    const asked = [
      "C17",
      "D3",
      "I1",
      "I14",
      "I15",
      "I19",
      "I2",
      "I23",
      "I3",
      "I4",
      "I5",
      "I6",
      "I7",
      "I8",
      "OneRun",
    ];
    expect([...broken].filter((name) => name !== undefined).sort()).toEqual(asked);
  });

  it("cannot be a line that the table's reader leaves out, or two of one name", () => {
    const table = (row: string): string => `## \`job.pml\`\n\n${row}\n`;
    expect(() => variantsOf(table("| job | | hold | |"))).toThrow("no variant");
    expect(() => variantsOf(table("| job | | 7 states | | |"))).toThrow("no variant");
    expect(() => variantsOf(`${table("| a | | 7 states | |")}| a | | breaks I7 | |`)).toThrow(
      "two are called a",
    );
  });
});

function named(name: string): ReturnType<typeof variants>[number] {
  const variant = variants().find((one) => one.name === name);
  if (variant === undefined) throw new Error(`spec/variants.md has no ${name}`);
  return variant;
}
