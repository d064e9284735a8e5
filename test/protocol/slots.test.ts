import { describe, expect, it } from "vitest";
import { type DueSchedule, type Firing, type Stretch, slotJobId } from "../../src/protocol/schedule.ts";
import { type Calendar, closedUpTo, firing, nextOpen, ON_TIME_MS } from "../../src/protocol/slots.ts";
import { seededRandom } from "../support/seed.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const START_MS = Date.UTC(2026, 0, 1);

const every =
  (ms: number): Calendar =>
  (afterMs) =>
    (Math.floor(afterMs / ms) + 1) * ms;

/** A schedule with a store's part played: what was fired is kept, and looked at again whenever the test says so. */
class Kept {
  readonly fired: number[] = [];
  readonly calendar: Calendar;
  schedule: DueSchedule;

  constructor(calendar: Calendar, atMost: number, nowMs = START_MS) {
    const covered = closedUpTo([], nowMs);
    this.calendar = calendar;
    this.schedule = {
      name: "digest",
      revision: "1",
      timing: { everyMs: 1 },
      atMost,
      covered,
      nextSlotMs: nextOpen(covered, nowMs, calendar),
      lastSlotMs: null,
    };
  }

  /** A worker looks, and fires what is due. */
  lookAt(nowMs: number): readonly number[] {
    const { slots, nextSlotMs, covered, lastSlotMs }: Firing = firing(this.schedule, nowMs, this.calendar);
    this.schedule = { ...this.schedule, nextSlotMs, covered, lastSlotMs };
    this.fired.push(...slots);
    return slots;
  }
}

const slotsBetween = (calendar: Calendar, fromMs: number, toMs: number): number[] => {
  const slots: number[] = [];
  for (let slot = calendar(fromMs); slot !== null && slot <= toMs; slot = calendar(slot)) slots.push(slot);
  return slots;
};

describe("what is due", () => {
  it("is nothing before the first slot, and each slot once when looked at often", () => {
    const kept = new Kept(every(HOUR_MS), 1, START_MS + 1);
    for (let now = START_MS + 1; now <= START_MS + 5 * HOUR_MS; now += 10 * MINUTE_MS) kept.lookAt(now);
    kept.lookAt(START_MS + 5 * HOUR_MS);
    expect(kept.fired).toEqual([1, 2, 3, 4, 5].map((n) => START_MS + n * HOUR_MS));
    expect(kept.schedule.covered).toEqual([[START_MS + 1, START_MS + 5 * HOUR_MS]]);
    expect(kept.schedule.lastSlotMs).toBe(START_MS + 5 * HOUR_MS);
  });

  it("is every slot that is on time, however many and whatever is to become of missed ones", () => {
    for (const atMost of [0, 1, 5]) {
      const kept = new Kept(every(1_000), atMost);
      expect(kept.lookAt(START_MS + 59_500)).toHaveLength(59);
      expect(kept.lookAt(START_MS + 59_500)).toEqual([]);
    }
  });

  it("after an outage: one, the last, unless a slot is on time", () => {
    const kept = new Kept(every(HOUR_MS), 1);
    expect(kept.lookAt(START_MS + 10.5 * HOUR_MS)).toEqual([START_MS + 10 * HOUR_MS]);
    expect(kept.lookAt(START_MS + 20 * HOUR_MS + 5_000)).toEqual([START_MS + 20 * HOUR_MS]);
    expect(kept.schedule.nextSlotMs).toBe(START_MS + 21 * HOUR_MS);
  });

  it("after an outage: none that was missed with skip, and the next one again", () => {
    const kept = new Kept(every(HOUR_MS), 0);
    expect(kept.lookAt(START_MS + 10.5 * HOUR_MS)).toEqual([]);
    expect(kept.schedule.nextSlotMs).toBe(START_MS + 11 * HOUR_MS);
    expect(kept.lookAt(START_MS + 11 * HOUR_MS + ON_TIME_MS)).toEqual([START_MS + 11 * HOUR_MS]);
    expect(kept.lookAt(START_MS + 12 * HOUR_MS + ON_TIME_MS + 1)).toEqual([]);
  });

  it("after an outage: the last n, those on time among them, and no more than there are", () => {
    const kept = new Kept(every(HOUR_MS), 3);
    expect(kept.lookAt(START_MS + 2.5 * HOUR_MS)).toEqual([1, 2].map((n) => START_MS + n * HOUR_MS));
    expect(kept.lookAt(START_MS + 20 * HOUR_MS + 1)).toEqual([18, 19, 20].map((n) => START_MS + n * HOUR_MS));
  });

  it("ends with the last slot of all", () => {
    const once: Calendar = (afterMs) => (afterMs < START_MS + HOUR_MS ? START_MS + HOUR_MS : null);
    const kept = new Kept(once, 1);
    expect(kept.lookAt(START_MS + 2 * HOUR_MS)).toEqual([START_MS + HOUR_MS]);
    expect(kept.schedule.nextSlotMs).toBeNull();
    expect(kept.lookAt(START_MS + 3 * HOUR_MS)).toEqual([]);
  });

  it("finds the last n of slots that come in heaps, without going through all of them", () => {
    // Each second of the third hour of a day, which is how a pattern can be.
    const heaps: Calendar = (afterMs) => {
      const next = Math.floor(afterMs / 1_000) * 1_000 + 1_000;
      const day = Math.floor(next / (24 * HOUR_MS)) * 24 * HOUR_MS;
      if (next < day + 3 * HOUR_MS) return day + 3 * HOUR_MS;
      return next < day + 4 * HOUR_MS ? next : day + 27 * HOUR_MS;
    };
    let asked = 0;
    const counted: Calendar = (afterMs) => {
      asked++;
      return heaps(afterMs);
    };
    const kept = new Kept(counted, 5);
    const last = START_MS + 100 * 24 * HOUR_MS + 4 * HOUR_MS - 1_000;
    expect(kept.lookAt(START_MS + 100.9 * 24 * HOUR_MS)).toEqual(
      [4, 3, 2, 1, 0].map((n) => last - n * 1_000),
    );
    expect(asked).toBeLessThan(200);
  });
});

describe("T5 the store's clock is set", () => {
  it("a year ahead: no flood, and a minute schedule makes as many jobs as its rule says", () => {
    for (const [atMost, most] of [
      [0, 2],
      [1, 2],
      [50, 50],
    ] as const) {
      const kept = new Kept(every(MINUTE_MS), atMost);
      expect(kept.lookAt(START_MS + YEAR_MS).length).toBeLessThanOrEqual(most);
    }
  });

  it("a year ahead and back: it goes on at once, loses none and repeats none, also a year later", () => {
    const kept = new Kept(every(HOUR_MS), 1);
    kept.lookAt(START_MS + HOUR_MS);
    kept.lookAt(START_MS + YEAR_MS + 90 * MINUTE_MS);
    kept.lookAt(START_MS + YEAR_MS + 2 * HOUR_MS);
    expect(kept.fired).toHaveLength(3);
    for (let now = START_MS + 2.1 * HOUR_MS; now < START_MS + YEAR_MS + 5 * HOUR_MS; now += 30 * MINUTE_MS)
      kept.lookAt(now);
    expect(new Set(kept.fired).size).toBe(kept.fired.length);
    expect(kept.fired.toSorted((a, b) => a - b)).toEqual(
      slotsBetween(kept.calendar, START_MS, START_MS + YEAR_MS + 4.5 * HOUR_MS),
    );
  });

  it("back by two hours or a year: what was fired is not fired again, and nothing is lost when it is put right", () => {
    for (const byMs of [2 * HOUR_MS, YEAR_MS]) {
      const kept = new Kept(every(HOUR_MS), 1);
      kept.schedule = { ...kept.schedule, covered: [[START_MS - 2 * YEAR_MS, START_MS]] };
      for (let n = 1; n <= 5; n++) kept.lookAt(START_MS + n * HOUR_MS);
      for (let ms = 0; ms < 100 * MINUTE_MS; ms += MINUTE_MS)
        kept.lookAt(START_MS + 5.5 * HOUR_MS - byMs + ms);
      expect(kept.fired).toHaveLength(5);
      kept.lookAt(START_MS + 7 * HOUR_MS);
      kept.lookAt(START_MS + 8 * HOUR_MS);
      expect(kept.fired).toEqual([1, 2, 3, 4, 5, 7, 8].map((n) => START_MS + n * HOUR_MS)); // six was missed: one
    }
  });

  it("back to before the schedule was made, because it was wrong then: it goes on at once", () => {
    const kept = new Kept(every(HOUR_MS), 1, START_MS + YEAR_MS);
    kept.lookAt(START_MS + YEAR_MS + HOUR_MS);
    kept.lookAt(START_MS + 1);
    expect(kept.schedule.nextSlotMs).toBe(START_MS + HOUR_MS);
    expect(kept.lookAt(START_MS + HOUR_MS)).toEqual([START_MS + HOUR_MS]);
  });

  it("either way again and again: no slot is ever fired twice, and few stretches are kept", () => {
    const random = seededRandom("clock steps");
    for (let round = 0; round < 50; round++) {
      const kept = new Kept(every([1_000, MINUTE_MS, HOUR_MS][round % 3] as number), round % 4);
      let now = START_MS;
      for (let step = 0; step < 60; step++) {
        const jump = random();
        if (jump < 0.1) now += (random() < 0.5 ? -1 : 1) * (random() < 0.5 ? 2 * HOUR_MS : YEAR_MS);
        else now += Math.floor(random() * 90_000);
        kept.lookAt(now);
        expect(kept.schedule.nextSlotMs === null || kept.schedule.nextSlotMs > now).toBe(true);
        expect(kept.schedule.covered.length).toBeLessThanOrEqual(4);
      }
      expect(new Set(kept.fired).size).toBe(kept.fired.length);
    }
  });
});

describe("a change", () => {
  it("closes what came before it, and keeps what was fired ahead of the clock", () => {
    const covered: Stretch[] = [
      [10, 20],
      [30, 40],
      [100, 110],
    ];
    expect(closedUpTo(covered, 60)).toEqual([
      [10, 60],
      [100, 110],
    ]);
    expect(closedUpTo(covered, 35)).toEqual([
      [10, 40],
      [100, 110],
    ]);
    expect(closedUpTo([], 5)).toEqual([[5, 5]]);
    expect(closedUpTo(covered, 5)).toEqual([[5, 5], ...covered]);
  });
});

describe("a slot's job id", () => {
  it("is a version 5 UUID of schedule and slot, for ever the same", () => {
    expect(slotJobId("digest", 1_767_225_600_000)).toBe(slotJobId("digest", 1_767_225_600_000));
    expect(slotJobId("digest", 1_767_225_600_000)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5/);
    expect(slotJobId("digest", 1_767_225_600_000)).toMatchInlineSnapshot(
      `"98fecf81-ace5-5455-af22-3fd4486dd258"`,
    );
    expect(slotJobId("1 digest", 1)).not.toBe(slotJobId("digest", 1));
    expect(slotJobId("digest", 11)).not.toBe(slotJobId("1 digest", 1));
  });
});
