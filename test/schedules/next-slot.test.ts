import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/errors.ts";
import type { Timing } from "../../src/protocol/schedule.ts";
import { calendarOf, nextSlot } from "../../src/schedules/next-slot.ts";
import { slotsByWalking } from "../support/calendar.ts";
import { seededRandom } from "../support/seed.ts";

const DAY_MS = 86_400_000;

/** Each time the clocks of a zone were or will be changed, and two zones in which they never are. */
const EDGES: readonly [zone: string, at: string][] = [
  ["America/New_York", "2026-03-08"],
  ["America/New_York", "2026-11-01"],
  ["Europe/Berlin", "2026-03-29"],
  ["Europe/Berlin", "2026-10-25"],
  ["Australia/Lord_Howe", "2026-04-05"], // back by half an hour
  ["Australia/Lord_Howe", "2026-10-04"],
  ["America/Santiago", "2026-04-05"], // at midnight
  ["America/Santiago", "2026-09-06"],
  ["Pacific/Apia", "2011-12-30"], // a day that never was
  ["Pacific/Apia", "2012-04-01"],
  ["Asia/Kathmandu", "2026-03-29"], // five hours and three quarters
  ["UTC", "2026-03-29"],
];

const PATTERNS = [
  "30 2 * * *",
  "30 1 * * *",
  "0 0 * * *",
  "45 1 * * *",
  "15 2 * * *",
  "0,30 2 * * *",
  "30 2,14 * * *",
  "0 1-3 * * *",
  "30 23 * * *",
  "0 12 30 12 *",
  "0 9 * * 1-5",
  "30 2 29 * 0",
  "*/30 * * * *",
  "*/7 * * * *",
  "15 * * * *",
  "15 */2 * * *",
  "*/10 2 * * *",
];

function slotsByAsking(pattern: string, zone: string, fromMs: number, toMs: number): number[] {
  const slots: number[] = [];
  for (let slot = nextSlot(pattern, zone, fromMs); slot !== null && slot <= toMs; ) {
    slots.push(slot);
    slot = nextSlot(pattern, zone, slot);
  }
  return slots;
}

const iso = (slots: readonly number[]): string[] => slots.map((ms) => new Date(ms).toISOString());

describe("slots are those of a calendar that walks through every minute", () => {
  for (const [zone, at] of EDGES) {
    const fromMs = Date.parse(at) - 2 * DAY_MS;
    const toMs = fromMs + 4 * DAY_MS;

    it(`${zone} around ${at}`, { timeout: 60_000 }, () => {
      for (const pattern of PATTERNS) {
        const walked = slotsByWalking(pattern, zone, fromMs, toMs);
        expect(iso(slotsByAsking(pattern, zone, fromMs, toMs)), pattern).toEqual(iso(walked));
      }
    });

    it(`${zone} around ${at}, asked at any moment`, () => {
      const random = seededRandom(`slots in ${zone} around ${at}`);
      for (const pattern of ["30 2 * * *", "0,30 1 * * *", "*/20 * * * *"]) {
        const walked = slotsByWalking(pattern, zone, fromMs, toMs);
        for (let n = 0; n < 50; n++) {
          const afterMs = fromMs + Math.floor(random() * 3 * DAY_MS);
          const [next] = walked.filter((slot) => slot > afterMs);
          if (next !== undefined)
            expect(nextSlot(pattern, zone, afterMs), `${pattern} after ${afterMs}`).toBe(next);
        }
      }
    });
  }

  it("each 15 seconds, in both of the hours that are one on the wall", { timeout: 60_000 }, () => {
    const fromMs = Date.parse("2026-10-24T23:30:00Z");
    const toMs = Date.parse("2026-10-25T02:30:00Z");
    const pattern = "*/15 * * * * *";
    const asked = slotsByAsking(pattern, "Europe/Berlin", fromMs, toMs);
    expect(asked).toHaveLength(3 * 240);
    expect(asked).toEqual(slotsByWalking(pattern, "Europe/Berlin", fromMs, toMs, 1_000));
  });
});

describe("a slot", () => {
  it("is after the moment that is asked for, to the millisecond", () => {
    const slot = Date.parse("2026-05-05T12:00:00Z");
    expect(nextSlot("0 12 * * *", "UTC", slot - 1)).toBe(slot);
    expect(nextSlot("0 12 * * *", "UTC", slot)).toBe(slot + DAY_MS);
    expect(nextSlot("0 12 * * *", "UTC", slot + 0.5)).toBe(slot + DAY_MS);
  });

  it("of an interval in ms is a multiple of it, whenever the schedule was made", () => {
    const calendar = calendarOf({ everyMs: 90_000 });
    expect([calendar(0), calendar(89_999), calendar(90_000)]).toEqual([90_000, 90_000, 180_000]);
  });

  it("there is none any more when the pattern's years are over, or the year 10000 has come", () => {
    expect(nextSlot("0 0 0 1 1 * 2020", "UTC", Date.UTC(2026, 0))).toBeNull();
    expect(nextSlot("0 0 30 2 *", "UTC", Date.UTC(2026, 0))).toBeNull();
    expect(nextSlot("0 0 1 1 *", "UTC", Date.UTC(9999, 6))).toBeNull();
    expect(calendarOf({ everyMs: DAY_MS })(Date.UTC(9999, 11, 31))).toBeNull();
  });

  it("is the same whatever the process's own zone", () => {
    const program = `
      import { nextSlot } from ${JSON.stringify(new URL("../../dist/schedules/next-slot.js", import.meta.url).href)};
      const slots = [];
      for (let at = Date.UTC(2026, 9, 24), n = 0; n < 60; n++) slots.push((at = nextSlot("30 1,2,3 * * *", "Europe/Berlin", at)));
      console.log(slots.join());`;
    const answers = ["UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"].map((TZ) => {
      const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
        env: { ...process.env, TZ },
        encoding: "utf8",
      });
      return stdout || stderr;
    });
    expect(answers[0]).toMatch(/^\d{13},/);
    expect(new Set(answers).size).toBe(1);
  });
});

describe("what is no timing is refused with what was received", () => {
  const refused: readonly [Timing, string, unknown][] = [
    ...[
      "",
      "* * *",
      "61 * * * *",
      "*/0 * * * *",
      "a b c d e",
      "@reboot",
      "2026-05-01T00:00:00",
      "0 0 0 0 0 0 0 0",
    ].map((cron): [Timing, string, unknown] => [{ cron, zone: "UTC" }, "cron", cron]),
    ...["", "Mars/Olympus", "+02:00", "local time"].map((zone): [Timing, string, unknown] => [
      { cron: "* * * * *", zone },
      "zone",
      zone,
    ]),
    ...[0, 999, 1_000.5, Number.NaN, Number.POSITIVE_INFINITY, 400 * DAY_MS].map(
      (everyMs): [Timing, string, unknown] => [{ everyMs }, "everyMs", everyMs],
    ),
  ];
  it.each(refused)("%j", (timing, argument, received) => {
    expect(() => calendarOf(timing)).toThrow(InvalidArgumentError);
    try {
      calendarOf(timing);
    } catch (error) {
      expect(error).toMatchObject({ argument, received });
    }
  });
});
