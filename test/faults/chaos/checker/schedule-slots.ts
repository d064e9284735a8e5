/** I18: each slot of each schedule was enqueued, once, and nothing else was. */

import { slotJobId } from "../../../../src/protocol/schedule.ts";
import { slotsByWalking } from "../../../support/calendar.ts";
import type { ScheduleOfRun } from "../record.ts";
import type { Evidence } from "./evidence.ts";
import type { Broken, Judgement } from "./verdict.ts";

export function scheduleSlots({ record, changes }: Evidence): Judgement {
  const { schedules = [] } = record;
  if (schedules.length === 0) return { notJudged: "the workload has no schedule" };
  const broken: Broken[] = [];
  for (const schedule of schedules) {
    const wanted = new Map(
      slotsOf(schedule).map((slotMs) => [slotJobId(schedule.name, slotMs) as string, slotMs]),
    );
    const times = new Map<string, number>();
    for (const { operation, after, job, seq } of changes) {
      if (operation !== "enqueue" || after?.name !== schedule.jobName) continue;
      times.set(job, (times.get(job) ?? 0) + 1);
      if (!wanted.has(job))
        broken.push({ what: `I18: ${schedule.name} enqueued a job of no slot`, job, seq });
    }
    for (const [job, slotMs] of wanted) {
      const count = times.get(job) ?? 0;
      if (count === 1) continue;
      broken.push({
        what: `I18: the slot ${new Date(slotMs).toISOString()} of ${schedule.name} was enqueued ${count} times`,
        job,
      });
    }
  }
  return { broken };
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
