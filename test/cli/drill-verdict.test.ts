import { describe, expect, it } from "vitest";
import { FAULT_NAMES, type FaultName, plannedRounds } from "../../src/cli/drill/faults.ts";
import { figuresOf } from "../../src/cli/drill/figures.ts";
import { drilledJob, type Round, type SeenWrite } from "../../src/cli/drill/round.ts";
import { storeFaults } from "../../src/cli/drill/store-faults.ts";
import { type Declared, verdictOf } from "../../src/cli/drill/verdict.ts";
import { seededNumbers } from "../../src/clock/seeded.ts";
import { jobId } from "../../src/protocol/identity.ts";
import type { JobRecord } from "../../src/protocol/job.ts";
import type { JournalEntry } from "../../src/protocol/journal.ts";

const job = drilledJob(jobId("0198c5a4-6b1e-7c3a-9a51-3f2f6f0c9f11"));
const REFUSED: SeenWrite = { answer: { outcome: "refused", message: "1 < 2" }, hasLanded: false };
const ANSWERED: SeenWrite = { answer: { outcome: "answered" }, hasLanded: false };
const LANDED: SeenWrite = { answer: { outcome: "answered" }, hasLanded: true };
const FAILED: SeenWrite = { answer: { outcome: "failed", message: "ECONNRESET" }, hasLanded: false };
const STALE = { outcome: "stale", current: 2, reason: "reclaimed" };

function round(fault: FaultName, changes: Partial<Round> = {}): Round {
  return {
    number: 1,
    fault,
    job,
    brokenOff: null,
    generations: [1, 2],
    reclaimedAfterMs: 100,
    hasOverlap: false,
    late: null,
    repeat: null,
    repeatedCompletion: null,
    storeFaults: [],
    ...changes,
  };
}

const late = (write: SeenWrite, changes: Partial<Round> = {}): Round =>
  round("pause", { late: { awayMs: 1_200, write, renewal: STALE, completion: STALE }, ...changes });
const repeated = (repeat: SeenWrite): Round => round("kill-before-complete", { repeat });

function judged(rounds: readonly Round[], declared: Partial<Declared> = {}) {
  const figures = figuresOf(rounds, rounds);
  const level = "fenced + deduplicated" as const;
  return {
    figures,
    ...verdictOf(figures, { level, probe: { isProven: true }, expected: undefined, ...declared }),
  };
}

describe("a drill's verdict", () => {
  it("is 0 when all that was late was refused and repeats were answered", () => {
    const { exitCode, destination, store } = judged([late(REFUSED), repeated(ANSWERED)]);
    expect(exitCode).toBe(0);
    expect(destination).toBe("refused 1 of 1 late write; answered 1 repeated effect from the first record.");
    expect(store).toMatch(/^refused all 2 late renewals and completions; 2 jobs taken over/);
  });

  it("is 1 for a write that has landed, also when the destination said that it refused it", () => {
    for (const write of [LANDED, { ...REFUSED, hasLanded: true }]) {
      const { exitCode, destination, figures } = judged([late(write), late(REFUSED)]);
      expect(exitCode).toBe(1);
      expect(destination).toMatch(/^LET THROUGH 1 of 2 late writes, although it declares/);
      expect(figures.lateWrites).toMatchObject({
        sent: 2,
        refused: 1,
        letThrough: [{ generation: 1, current: 2 }],
      });
    }
  });

  it("does not take a broken connection for a refusal", () => {
    const { exitCode, figures, destination } = judged([late(FAILED)]);
    expect(exitCode).toBe(1);
    expect(figures.lateWrites).toMatchObject({ sent: 1, refused: 0, failed: [{ what: "ECONNRESET" }] });
    expect(destination).toMatch(/none landed: it refused 0; some writes failed for another reason/);
  });

  it("takes a late write that was answered as a repeat for what it is, where keys are known and tokens are not", () => {
    const { exitCode, destination } = judged([late(ANSWERED)], { level: "deduplicated" });
    expect(exitCode).toBe(0);
    expect(destination).toBe("of 1 late write none landed: it refused 0, answered 1 as repeats.");
  });

  for (const [level, expected, rounds, exitCode] of [
    ["at least once", undefined, [late(LANDED)], 1],
    ["at least once", "at least once", [late(LANDED), repeated(LANDED)], 0],
    ["at least once", "deduplicated", [late(LANDED)], 0],
    ["at least once", "deduplicated", [repeated(LANDED)], 1],
    ["fenced", undefined, [late(REFUSED), repeated(LANDED)], 0],
    ["fenced", "fenced + deduplicated", [repeated(LANDED)], 1],
    ["fenced", "at least once", [late(LANDED)], 1], // what it declares it owes
    ["deduplicated", undefined, [repeated(LANDED)], 1],
  ] as const) {
    const what = rounds.map(({ late: acts }) => (acts === null ? "a repeat" : "a late write")).join(" and ");
    it(`is ${exitCode} for ${what} at "${level}" when ${expected ?? "nothing"} is expected`, () => {
      expect(judged(rounds, { level, expected }).exitCode).toBe(exitCode);
    });
  }

  it("is 1 for a fence that its probe does not show", () => {
    const { exitCode, destination } = judged([late(REFUSED)], {
      probe: { isProven: false, why: "admitted" },
    });
    expect([exitCode, destination]).toEqual([1, expect.stringContaining("its probe is not proven")]);
  });

  it("is 4 when a round was not played to its end, and concludes nothing from it", () => {
    const { exitCode, figures, drill } = judged([
      late(REFUSED),
      late(LANDED, { brokenOff: "B told nothing" }),
    ]);
    expect(exitCode).toBe(4);
    expect(figures.lateWrites).toMatchObject({ sent: 1, refused: 1, letThrough: [] });
    expect(drill).toMatch(/^1 round not played to the end/);
  });

  it("claims nothing of a store and a destination that had nothing to refuse", () => {
    const { exitCode, store, destination } = judged([round("kill-at-claim")]);
    expect(exitCode).toBe(0);
    expect(store).toMatch(/had nothing to refuse/);
    expect(destination).toBe("nothing was asked of it.");
  });

  it("counts re-claims by the nearest rank, and leases that overlapped", () => {
    const waits = [40, 10, 30, 20, -5];
    const { figures } = judged(waits.map((reclaimedAfterMs) => round("kill-at-claim", { reclaimedAfterMs })));
    expect(figures.reclaims).toEqual({ count: 5, p50Ms: 20, p99Ms: 40 });
    expect(figures.overlaps).toEqual({ runs: 0, leases: 1 });
  });
});

describe("a drill finds in a store", () => {
  const record = { state: "completed", result: JSON.stringify("generation 2") } as JobRecord;
  const completed = { kind: "completed" } as JournalEntry;
  const found = (of: Round, ended: JobRecord | undefined = record, ends = [completed]) =>
    storeFaults(of, ended, ends);

  it("nothing when all is as it should be", () => expect(found(late(REFUSED))).toEqual([]));

  for (const [title, of, message] of [
    [
      "a generation given out twice",
      round("kill-at-claim", { generations: [2, 2] }),
      /generation 2 was given out after 2/,
    ],
    [
      "a takeover before the lease's end",
      round("kill-at-claim", { reclaimedAfterMs: -7 }),
      /taken over 7 ms before/,
    ],
    [
      "a late renewal that was applied",
      late(REFUSED, {
        late: { awayMs: 1, write: REFUSED, renewal: { outcome: "applied" }, completion: STALE },
      }),
      /a late renewal with generation 1 was not refused: it was applied/,
    ],
    [
      "a late completion that counted as done before",
      late(REFUSED, {
        late: { awayMs: 1, write: REFUSED, renewal: STALE, completion: { outcome: "already" } },
      }),
      /a late completion with generation 1 was not refused: it was already/,
    ],
    [
      "a completion applied twice",
      round("lost-reply", { repeatedCompletion: "applied" }),
      /not answered "already": applied/,
    ],
  ] as const) {
    it(title, () => expect(found(of)).toEqual([expect.stringMatching(message)]));
  }

  it("a job that did not end, has another's result, or ended twice", () => {
    const ready = { ...record, state: "ready" } as JobRecord;
    const ofA = { ...record, result: JSON.stringify("generation 1") } as JobRecord;
    expect(found(late(REFUSED), ready)).toEqual(["the job did not end as completed: it is ready"]);
    expect(found(late(REFUSED), ofA)).toEqual([expect.stringMatching(/which generation 2 has not returned/)]);
    expect(found(late(REFUSED), record, [completed, completed])).toEqual(["the job ended 2 times"]);
  });
});

describe("a drill's plan", () => {
  it("has each fault as often as asked for, and is the same for the same seed", () => {
    const plan = (seed: number) => plannedRounds(FAULT_NAMES, 4, { next: seededNumbers(seed) });
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
    for (const fault of FAULT_NAMES) {
      const rounds = plan(7).filter((planned) => planned.fault === fault);
      expect(rounds.map(({ successor }) => successor).sort()).toEqual(["at work", "at work", "done", "done"]);
    }
    expect(plan(7).map(({ number }) => number)).toEqual(Array.from({ length: 24 }, (_, n) => n + 1));
  });
});
