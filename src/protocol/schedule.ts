/** A schedule as stores keep it, and the jobs of its slots. What a slot is, and which are due: slots.ts. */

import { v5 } from "uuid";
import type { NewJob } from "./enqueue.ts";
import type { JobId } from "./identity.ts";

/** When it is due: by a cron pattern in a zone's local time, or at each multiple of so many ms since 1970. */
export type Timing = { readonly cron: string; readonly zone: string } | { readonly everyMs: number };

/** A stretch of store time, both ends included, in ms since 1970. */
export type Stretch = readonly [fromMs: number, toMs: number];

/** What each slot enqueues: all of a job but its id, so that any worker can do it without the job's definition. */
export interface JobTemplate extends Omit<NewJob, "jobId" | "mayRepeat" | "due"> {
  /** The member of the input that gets the slot; the input is an object then. */
  readonly slotAs: string | null;
}

export interface ScheduleDefinition {
  readonly name: string;
  /** 0 when the caller gave none. */
  readonly version: number;
  readonly timing: Timing;
  /** How many of the last slots are enqueued however late they are. */
  readonly atMost: number;
  readonly template: JobTemplate;
}

export interface Schedule extends ScheduleDefinition {
  /** New with every change but a firing: what is held against it is refused afterwards. */
  readonly revision: string;
  readonly paused: boolean;
  /** The first slot that is neither fired nor passed over; null when there is none any more. */
  readonly nextSlotMs: number | null;
  /** The times whose slots have been dealt with, in order and apart. */
  readonly covered: readonly Stretch[];
  /** The last slot that was enqueued. */
  readonly lastSlotMs: number | null;
  readonly createdAtMs: number;
  readonly changedAtMs: number;
}

/** What it takes to decide which slots are due; without the template, which may be long. */
export type DueSchedule = Pick<
  Schedule,
  "name" | "revision" | "timing" | "atMost" | "covered" | "nextSlotMs" | "lastSlotMs"
>;

/** Slots to be enqueued, and what the schedule is afterwards. Refused unless it is still as it was looked at. */
export interface Firing {
  readonly name: string;
  readonly revision: string;
  /** The next slot that was found. */
  readonly foundSlotMs: number | null;
  /** In order; may be empty. */
  readonly slots: readonly number[];
  readonly nextSlotMs: number | null;
  readonly covered: readonly Stretch[];
  readonly lastSlotMs: number | null;
}

const NAMESPACE = "5b1f6a44-3c0e-4d0b-9f5a-0d7a6f1f3c55";

/** The same for whoever enqueues the slot, so that it is one job (C1). */
export function slotJobId(name: string, slotMs: number): JobId {
  return v5(`${slotMs} ${name}`, NAMESPACE) as JobId;
}

export function slotJob(name: string, template: JobTemplate, slotMs: number): NewJob {
  return { ...templateJob(template, slotJobId(name, slotMs), slotMs), mayRepeat: true };
}

/** @param atMs what `slotAs` gets */
export function templateJob(template: JobTemplate, jobId: JobId, atMs: number): NewJob {
  const { slotAs, ...job } = template;
  const input = slotAs === null ? job.input : withMember(job.input, slotAs, atMs);
  return { ...job, input, jobId, mayRepeat: false, due: { delayMs: 0 } };
}

function withMember(input: string, name: string, value: number): string {
  return JSON.stringify({ ...(JSON.parse(input) as object), [name]: value });
}
