import { describe, expect, it } from "vitest";
import type { RunRecord } from "../record.ts";
import { CORRUPTIONS } from "./corruptions/all.ts";
import type { Falsified } from "./corruptions/falsified.ts";
import { judge } from "./judge.ts";
import { soundRun } from "./sound-run.ts";
import { INVARIANTS, type Invariant, type Verdict } from "./verdict.ts";

const sound = await soundRun();

function falsified(falsify: (record: Falsified) => void): RunRecord {
  const record = structuredClone(sound) as Falsified;
  falsify(record);
  return record as RunRecord;
}

function broken({ findings }: Verdict): Invariant[] {
  return findings.filter(({ status }) => status === "broken").map(({ invariant }) => invariant);
}

describe("the checker", () => {
  it("passes a sound record, and judges every invariant in it", () => {
    const { result, findings, harness } = judge(sound);
    expect(findings.flatMap(({ violations }) => violations)).toEqual([]);
    expect(findings.map(({ invariant, status }) => `${invariant} ${status}`)).toEqual(
      Object.keys(INVARIANTS).map((invariant) => `${invariant} holds`),
    );
    expect({ result, harness }).toEqual({ result: "pass", harness: [] });
  });

  it.each(CORRUPTIONS)("finds, for $breaks, $what", ({ breaks, falsify }) => {
    const verdict = judge(falsified(falsify));
    expect(broken(verdict)).toContain(breaks);
    expect(verdict.result).toBe("broken");
  });

  it("has a falsified record for every invariant", () => {
    expect(new Set(CORRUPTIONS.map(({ breaks }) => breaks))).toEqual(new Set(Object.keys(INVARIANTS)));
  });
});
