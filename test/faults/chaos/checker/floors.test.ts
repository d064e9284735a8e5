import { describe, expect, it } from "vitest";
import type { RunRecord } from "../record.ts";
import { FLOORS } from "./floors.ts";
import { judge } from "./judge.ts";
import { soundRun } from "./sound-run.ts";
import { exitCodeOf, type Verdict } from "./verdict.ts";

const short = await soundRun({ freezes: 2, kills: 2 });
const names = Object.keys(FLOORS);

function missed({ floors }: Verdict): string[] {
  return floors.filter(({ wanted, seen }) => seen < wanted).map(({ name }) => name);
}

/** A plan that asks for nothing but one thing. */
function only(name: string, wanted: number): RunRecord {
  const floors = Object.fromEntries(
    [...names, ...short.nemeses.map((one) => `uses of ${one}`)].map((one) => [one, 0]),
  );
  return { ...short, floors: { ...floors, [name]: wanted } };
}

describe("a run that saw too little", () => {
  it("is void, though nothing is broken, and each missed floor is named", () => {
    const verdict = judge(short);
    expect(verdict.findings.filter(({ status }) => status === "broken")).toEqual([]);
    expect(missed(verdict)).toEqual([...names, "uses of pause", "uses of kill"]);
    expect([verdict.result, exitCodeOf(verdict)]).toEqual(["void", 2]);
  });

  it.each(names)("is void for want of %s alone", (name) => {
    const { floors } = judge(short);
    const { seen } = floors.find((floor) => floor.name === name)!;
    expect(seen).toBeGreaterThan(0);
    expect(missed(judge(only(name, seen + 1)))).toEqual([name]);
    expect(judge(only(name, seen)).result).toBe("pass");
  });

  it("is void when a nemesis of its plan was used less than three times", () => {
    const verdict = judge({ ...only("", 0), nemeses: ["partition"] });
    expect(missed(verdict)).toEqual(["uses of partition"]);
    expect(verdict.result).toBe("void");
  });

  it.each(["async", "sync"])("is void when an %s failover lost nothing, or cancelled no wait", (mode) => {
    const fault = { process: "nemesis", incarnation: 1, op: "failover", target: "store" };
    const history = [
      ...short.history,
      { ...fault, kind: "invoke", atMs: short.healedAtMs - 2, detail: { mode } } as const,
      { ...fault, kind: "ok", atMs: short.healedAtMs - 1 } as const,
    ];
    const wanted = mode === "async" ? "grants lost by failover" : "waits cancelled";
    expect(missed(judge({ ...only("", 0), history }))).toEqual([wanted]);
  });
});
