import { describe, expect, it } from "vitest";
import { destinationChapters, destinationConformance } from "../../src/testing/index.ts";
import { BROKEN_DESTINATIONS } from "../support/broken-destinations.ts";
import { memoryDestinationHarness } from "../support/memory-destination.ts";
import { failingDestinationTests } from "../support/record-conformance.ts";

/** The test that is there for each fault; others may fail besides. */
const CAUGHT_BY: Readonly<Record<string, string>> = {
  "check comes before the transaction":
    "D1 of eight writers at once the effects land in the order of the marks, and none is lost",
  "mark is raised in a transaction of its own": "D1 an effect that failed leaves the mark that was there",
  "advance does not raise":
    "D3 from an advance on the owner before cannot write: what is read then stays as it is",
  "answer is recorded before the effect":
    "D4 an effect that rolled back leaves no record: the next one makes it",
  "answer is recorded after the effect":
    "D4 of eight that make the same effect at once one does, and nobody hears another answer",
  "owner is ignored": "D2 an equal generation of another owner is refused, and writes nothing",
  "generations are compared as text": "D2 generations are compared as numbers: 9 is lower than 10",
  "generations are kept in 32 bits":
    "D2 generations about 2^32 and up to 2^53 − 1 keep their order to the last digit",
  "marks are lost on restart": "D1 a mark outlives the process that keeps it",
  "missing token counts as admitted": "D1 a write without a token is refused, and writes nothing",
  "lower token is answered from the record": "D4 a lower token is refused even if its answer is stored",
  "replay does not raise": "D4 a replay is an admitted token: it raises the mark",
  "request is ignored": "D4 the same key with another request is an error, and the first answer stays",
  "key has the generation in it": "D4 a repeat by the next generation gets the first one's answer",
  "key is the step alone": "D4 a key is of its run: the same step of another run or job is another effect",
  "answer is parsed and printed again": "D4 a repeat gets the first answer, byte for byte, and lands once",
  "pruned lines are forgotten": "D7 a sleeper whose line was pruned is refused, and writes nothing",
  "pruning takes named leases along":
    "D7 named leases are never pruned, neither those with a mark nor those without",
  "names are folded to lower case": "lines of every name are told apart",
};

describe("the suite catches a destination whose", () => {
  for (const [fault, Broken] of Object.entries(BROKEN_DESTINATIONS)) {
    it(fault, async () => {
      const failing = await failingDestinationTests(memoryDestinationHarness(() => new Broken()));
      expect(failing).toContain(CAUGHT_BY[fault]);
    });
  }
});

describe("the suite of destinations itself", () => {
  it("finds nothing wrong with the sound one, which the faults are made from", async () => {
    expect(await failingDestinationTests(memoryDestinationHarness())).toEqual([]);
  });

  it("has a chapter for each of its subjects, and no two tests of one name", () => {
    const names = destinationChapters.flatMap(({ tests }) => tests.map(({ name }) => name));
    expect(destinationChapters.map(({ name }) => name)).toEqual([
      "order",
      "refusals",
      "atomicity",
      "durability",
      "advance",
      "dedupe",
      "pruning",
      "names",
      "level",
    ]);
    expect(new Set(names).size).toBe(names.length);
  });

  it("judges a destination by the level that it declares: too low is wrong as well", async () => {
    const failing = await failingDestinationTests({ ...memoryDestinationHarness(), level: "fenced" });
    expect(failing).toEqual([
      "D8 the kit shows the level that it is judged by",
      "D8 it answers repeats if it is called deduplicated, and only then",
    ]);
  });

  it("leaves out what the level does not claim", () => {
    const declared: string[] = [];
    const runner = {
      describe: (_: string, body: () => void) => body(),
      it: (name: string) => declared.push(name),
    };
    destinationConformance(runner, "x", { ...memoryDestinationHarness(), level: "at least once" });
    const needless = destinationChapters
      .flatMap(({ tests }) => tests)
      .filter(({ needs }) => needs.length === 0);
    expect(declared).toEqual(needless.map(({ name }) => name));
  });

  it("refuses a gap that names no test of its level", () => {
    const gaps = [{ test: "D4 effects of two steps have answers of their own", because: "it cannot" }];
    const declare = (level: "fenced" | "deduplicated"): void =>
      destinationConformance({ describe: () => {}, it: () => {} }, "x", {
        ...memoryDestinationHarness(),
        level,
        gaps,
      });
    expect(() => declare("fenced")).toThrow("there is no conformance test named");
    expect(() => declare("deduplicated")).not.toThrow();
  });
});
