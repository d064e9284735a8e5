import { describe, expect, it } from "vitest";
import { reportOf } from "../report.ts";
import { CORRUPTIONS } from "./corruptions/all.ts";
import type { Falsified } from "./corruptions/falsified.ts";
import { judge } from "./judge.ts";
import { soundRun } from "./sound-run.ts";
import { exitCodeOf } from "./verdict.ts";

const sound = await soundRun();

describe("a report", () => {
  it("of a sound run says what was seen, that it passed, and how to play it again", () => {
    const verdict = judge(sound);
    const report = reportOf(sound, verdict);
    expect(report).toContain("leasehold chaos staged  seed 1");
    expect(report).toContain("re-claims 30");
    expect(report).toContain("pause 20 (aimed 20)");
    expect(report).toContain("20 late refused  10 unknown -> 10 resolved");
    expect(report).toContain("blind destination: 20 applied twice");
    expect(report).toContain("23 hold, 0 broken, 0 not judged");
    expect(report).toContain("PASS      replay: npm run chaos -- --plan staged --seed 1");
    expect(exitCodeOf(verdict)).toBe(0);
  });

  it("of a broken one names the invariant, the job, its rows and lines, and the faults meanwhile", () => {
    const record = structuredClone(sound) as Falsified;
    CORRUPTIONS.find(({ what }) => what === "a refusal told as applied")!.falsify(record);
    const verdict = judge(record);
    const report = reportOf(record, verdict);
    const { job } = record.decisions.find(({ decision }) => decision === "stale")!;
    expect(report).toMatch(/^BROKEN {4}I13 answers agree with the audit: 1 times$/m);
    expect(report).toContain(`(job ${job})`);
    expect(report).toMatch(/^ {4}audit .* -> ended completed/m);
    expect(report).toMatch(/^ {4}history .* settle /m);
    expect(report).toMatch(/^ {4}nemesis .* pause of worker 1$/m);
    expect(report).toMatch(/^FAIL /m);
    expect(exitCodeOf(verdict)).toBe(1);
  });

  it("of a record with a hole in it blames the harness, and judges nothing", () => {
    const verdict = judge({ ...sound, audit: [] });
    expect(verdict.harness).toEqual(["the audit is empty"]);
    expect(reportOf(sound, verdict)).toMatch(/^ERROR /m);
    expect(exitCodeOf(verdict)).toBe(3);
  });

  it("does not take what could not be judged for held", () => {
    const { schedules: _, ...without } = sound;
    const verdict = judge(without);
    expect(reportOf(without, verdict)).toContain("not judged I18 cron exact: the workload has no schedule");
    expect(reportOf(without, verdict)).toContain("22 hold, 0 broken, 1 not judged");
  });
});
