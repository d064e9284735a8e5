/** Schedules as workers hand them to a store; shared by the chapter's files. */

import assert from "node:assert/strict";
import type { Firing, JobTemplate, Schedule } from "../../protocol/schedule.ts";
import type { ScheduleWrite } from "../../stores/schedules.ts";
import { newId, newJob, OPTIONS, QUEUE } from "./fixtures.ts";
import type { TestWorld } from "./harness.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

export function template(change: Partial<JobTemplate> = {}): JobTemplate {
  const { jobId: _, mayRepeat: __, due: ___, ...job } = newJob();
  return { ...job, slotAs: null, ...change };
}

export function write(change: Partial<ScheduleWrite> = {}): ScheduleWrite {
  return {
    name: "digest",
    version: 0,
    timing: { cron: "0 9 * * 1-5", zone: "Europe/Berlin" },
    atMost: 1,
    template: template(),
    revision: newId(),
    paused: false,
    nextSlotMs: null,
    covered: [],
    lastSlotMs: null,
    ...change,
  };
}

/** Puts a schedule that was not there, due `inMs` from now by store time. */
export async function scheduled(
  { store }: Pick<TestWorld, "store">,
  inMs: number,
  change: Partial<ScheduleWrite> = {},
): Promise<ScheduleWrite & { readonly nextSlotMs: number }> {
  const nextSlotMs = (await store.nowMs(OPTIONS)) + inMs;
  const schedule = { ...write(change), nextSlotMs };
  assert.equal(await store.schedules.put(schedule, undefined, OPTIONS), true);
  return schedule;
}

/** A firing of the slot that is next, after which `nextInMs` later is. */
export function firingOf(
  schedule: ScheduleWrite & { readonly nextSlotMs: number },
  nextInMs: number = HOUR_MS,
): Firing {
  const { name, revision, nextSlotMs } = schedule;
  return {
    name,
    revision,
    foundSlotMs: nextSlotMs,
    slots: [nextSlotMs],
    nextSlotMs: nextSlotMs + nextInMs,
    covered: [[nextSlotMs, nextSlotMs]],
    lastSlotMs: nextSlotMs,
  };
}

export async function found({ store }: Pick<TestWorld, "store">, name = "digest"): Promise<Schedule> {
  const { schedule } = await store.schedules.get(name, OPTIONS);
  assert.ok(schedule, `there is a schedule ${name}`);
  return schedule;
}

/** How many jobs of the chapter's queue there are, whatever became of them. */
export async function jobCount({ store }: Pick<TestWorld, "store">): Promise<number> {
  return (await store.list({ queue: QUEUE }, { limit: 10_000 }, OPTIONS)).jobs.length;
}
