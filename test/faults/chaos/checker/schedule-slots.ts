/** I18: each slot of each schedule was enqueued, once, and nothing else was. */

import { slotJobId } from "../../../../src/protocol/schedule.ts";
import { slotsByWalking } from "../../../support/calendar.ts";
import type { ScheduleOfRun } from "../record.ts";
import type { Evidence } from "./evidence.ts";
import type { Broken, Judgement } from "./verdict.ts";

export function scheduleSlots({ record, changes, time }: Evidence): Judgement {
  const { schedules = [] } = record;
  if (schedules.length === 0) return { notJudged: "the workload has no schedule" };
  const broken: Broken[] = [];
  for (const schedule of schedules) {
    const wanted = new Map(
      slotsOf(schedule).map((slotMs) => [slotJobId(schedule.name, slotMs) as string, slotMs]),
    );
    const offWith = slotsOfSetClocks(
      schedule,
      time.offsetsMs,
      time.storeMs(record.endedAtMs) ?? schedule.toMs,
    );
    const times = new Map<string, number>();
    for (const { operation, after, job, seq } of changes) {
      if (operation !== "enqueue" || after?.name !== schedule.jobName) continue;
      times.set(job, (times.get(job) ?? 0) + 1);
      if (!wanted.has(job) && !offWith.has(job))
        broken.push({ what: `I18: ${schedule.name} enqueued a job of no slot`, job, seq });
    }
    for (const [job, slotMs] of [...offWith, ...wanted]) {
      const count = times.get(job) ?? 0;
      // What a clock that was ahead has passed over is not made up for: then slots may be left out.
      if (count === 1 || (count === 0 && offWith.size > 0)) continue;
      broken.push({
        what: `I18: the slot ${new Date(slotMs).toISOString()} of ${schedule.name} was enqueued ${count} times`,
        job,
      });
    }
  }
  return { broken };
}

/** Slots are on time for so long, ms, so that a clock that is set forth finds those of that time due. */
const ON_TIME_MS = 60_000;

/** By their jobs, the slots that may be due while the store's clock is set off, and right again; none where it never was. */
function slotsOfSetClocks(
  schedule: ScheduleOfRun,
  offsetsMs: readonly number[],
  endedMs: number,
): Map<string, number> {
  const { name, fromMs } = schedule;
  const all = offsetsMs.length === 0 ? [] : [0, ...offsetsMs];
  const slots = all.flatMap((ms) =>
    slotsOf({ ...schedule, fromMs: fromMs + ms - ON_TIME_MS, toMs: endedMs + ms }),
  );
  return new Map(slots.map((slotMs) => [slotJobId(name, slotMs) as string, slotMs]));
}

function slotsOf({ timing, fromMs, toMs }: ScheduleOfRun): number[] {
  if ("cron" in timing) {
    const stepMs = timing.cron.split(" ").length === 6 ? 1_000 : 60_000;
    return slotsByWalking(timing.cron, timing.zone, fromMs, toMs, stepMs);
  }
  const slots: number[] = [];
  const { everyMs } = timing;
  for (let ms = (Math.floor(fromMs / everyMs) + 1) * everyMs; ms <= toMs; ms += everyMs) slots.push(ms);
  return slots;
}
