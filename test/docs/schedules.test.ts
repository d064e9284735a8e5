/** The table of daylight saving: what it says is what the preview says, and what the calendar that walks finds. */

import { describe, expect, it } from "vitest";
import { ON_TIME_MS } from "../../src/protocol/slots.ts";
import { MOST_TIMES_OF_DAY } from "../../src/schedules/cron.ts";
import { MAX_EVERY_MS, MIN_EVERY_MS } from "../../src/schedules/next-slot.ts";
import { previewSlots } from "../../src/schedules/preview.ts";
import { slotsByWalking } from "../support/calendar.ts";
import { page, tableRows, unquoted } from "./markdown.ts";

const text = page("docs/reference/schedules.md");
const rows = tableRows(text, "## When the clocks change", "pattern");

describe("the table of daylight saving", () => {
  it("has all kinds of changes", () => {
    expect(rows.length).toBeGreaterThan(12);
    expect(new Set(rows.map(({ zone }) => zone)).size).toBeGreaterThanOrEqual(5);
  });

  it.each(rows)("$pattern $zone, $from (UTC)", ({ pattern = "", zone = "", from = "", ...row }) => {
    const cron = unquoted(pattern);
    const fromMs = Date.parse(`${unquoted(from).replace(" ", "T")}Z`);
    const told = (row["slots"] ?? "").split("<br>");
    const slots = previewSlots({ cron, zone: unquoted(zone) }, fromMs, told.length);
    expect(slots.map(({ local, utc, edge }) => line(local, utc, edge))).toEqual(told);
    const last = slots.at(-1)?.slotMs ?? 0;
    expect(slots.map(({ slotMs }) => slotMs)).toEqual(slotsByWalking(cron, unquoted(zone), fromMs, last));
  });
});

describe("the page of schedules", () => {
  it("has the limits of the code", () => {
    expect(text).toContain(`${MIN_EVERY_MS} to ${MAX_EVERY_MS}`);
    expect(text).toContain(`more than ${MOST_TIMES_OF_DAY} times of day`);
    expect(ON_TIME_MS).toBe(60_000);
    expect(text).toContain("more than a minute late");
  });
});

function line(local: string, utc: string, edge: string | undefined): string {
  return `${local} = ${utc.slice(11, 16)}Z${edge === undefined ? "" : `, *${edge}*`}`;
}
