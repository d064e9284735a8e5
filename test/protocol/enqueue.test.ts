import { describe, expect, it } from "vitest";
import { newRecord, onKeyTaken, replaceable, replacedBy } from "../../src/protocol/enqueue.ts";
import { newHistoryJob } from "../support/histories.ts";
import { gen, ID, leasedJob, NOW_MS, readyJob } from "../support/records.ts";

const job = newHistoryJob(ID, "letters", null);

describe("a new record (C1)", () => {
  it("is ready, owned by nobody, with generation 0", () => {
    expect(newRecord(job, 7, NOW_MS)).toMatchObject({
      seq: 7,
      state: "ready",
      owner: null,
      generation: 0,
      attempt: 0,
      createdAtMs: NOW_MS,
    });
  });

  it("is due after its delay by store time, or at the caller's moment", () => {
    expect(newRecord({ ...job, due: { delayMs: 500 } }, 1, NOW_MS).runAtMs).toBe(NOW_MS + 500);
    expect(newRecord({ ...job, due: { runAtMs: NOW_MS + 1 } }, 1, NOW_MS).runAtMs).toBe(NOW_MS + 1);
  });

  it("without delay, or with a moment in the past, is due whatever the clock says later", () => {
    for (const due of [{ delayMs: 0 }, { runAtMs: NOW_MS }, { runAtMs: 0 }]) {
      expect(newRecord({ ...job, due }, 1, NOW_MS).runAtMs).toBeNull();
    }
  });
});

describe("a taken key (C17)", () => {
  it.each([
    ["keep", readyJob(), "keep"],
    ["keep", leasedJob(), "keep"],
    ["throw", readyJob(), "conflict"],
    ["throw", leasedJob(), "conflict"],
    ["replace", readyJob(), "change"],
    ["replace", readyJob({ generation: gen(1) }), "end"],
    ["replace", leasedJob(), "keep"],
  ] as const)("%s with %j", (onConflict, holder, expected) => {
    expect(onKeyTaken(holder, onConflict)).toBe(expected);
  });

  it("a change in place keeps id, place and age, and takes all that may differ", () => {
    const changed = {
      ...readyJob(),
      ...replaceable({ ...job, priority: 9, input: "1", maxAttempts: 4 }, NOW_MS + 5),
    };
    expect(changed).toMatchObject({
      jobId: ID,
      seq: 1,
      createdAtMs: NOW_MS,
      priority: 9,
      input: "1",
      maxAttempts: 4,
    });
  });

  it("a job that was replaced ends as cancelled", () => {
    expect(replacedBy(readyJob(), NOW_MS)).toMatchObject({
      state: "cancelled",
      endReason: "replaced",
      finishedAtMs: NOW_MS,
    });
  });
});
