import { describe, expect, it } from "vitest";
import {
  type Departure,
  failedByDependency,
  freed,
  hasEnded,
  onDeparture,
} from "../../src/protocol/blocking.ts";
import { isDue } from "../../src/protocol/claim.ts";
import { cancel } from "../../src/protocol/control.ts";
import { NOW_MS, readyJob } from "../support/records.ts";

describe("the departure of a job", () => {
  const does = (how: Departure) => (["fail", "run", "wait"] as const).map((on) => onDeparture(how, on));

  it("frees whoever waits for it when it has completed", () => {
    expect(does("completed")).toEqual(["free", "free", "free"]);
  });

  it("does what each wants when it has failed or was cancelled", () => {
    for (const how of ["failed", "cancelled"] as const) expect(does(how)).toEqual(["fail", "free", "wait"]);
  });

  it("lets nobody wait for what was deleted", () => {
    expect(does("deleted")).toEqual(["fail", "free", "fail"]);
  });
});

describe("a blocked job", () => {
  const blocked = readyJob({ blockedBy: 2, runAtMs: NOW_MS - 1 });

  it("is not due until all have let it go", () => {
    expect(isDue(blocked, NOW_MS)).toBe(false);
    expect(isDue(freed(blocked), NOW_MS)).toBe(false);
    expect(isDue(freed(freed(blocked)), NOW_MS)).toBe(true);
    expect(freed(readyJob()).blockedBy).toBe(0);
  });

  it("is blocked no more once it has ended, by a cancel or because of another one", () => {
    expect(cancel(blocked, NOW_MS).job).toMatchObject({ state: "cancelled", blockedBy: 0 });
    expect(failedByDependency(blocked, NOW_MS)).toMatchObject({
      state: "failed",
      endReason: "dependency",
      blockedBy: 0,
      runAtMs: null,
      finishedAtMs: NOW_MS,
      generation: blocked.generation,
    });
  });
});

describe("a batch", () => {
  it("has ended when every member has, however; and at once without members", () => {
    expect(hasEnded({ total: 3, completed: 1, failed: 1, cancelled: 0 })).toBe(false);
    expect(hasEnded({ total: 3, completed: 1, failed: 1, cancelled: 1 })).toBe(true);
    expect(hasEnded({ total: 0, completed: 0, failed: 0, cancelled: 0 })).toBe(true);
  });
});
