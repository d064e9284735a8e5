/** What `schedule()` takes, checked before anything is written, and what is told of a schedule. */

import type { World } from "../clock/world.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { JobId } from "../protocol/identity.ts";
import {
  type JobTemplate,
  type Schedule,
  type ScheduleDefinition,
  slotJobId,
  type Timing,
} from "../protocol/schedule.ts";
import { calendarOf } from "../schedules/next-slot.ts";
import type { JobDefinition } from "./define-job.ts";
import { checkKnown } from "./known-options.ts";
import { checkName } from "./names.ts";
import { JOB_OPTIONS, type JobOptions, newJob } from "./new-job.ts";

/**
 * What becomes of slots that were missed, that is: later than a minute when a worker came to look. `one`: when none is on
 * time, the last of them. `skip`: none. `atMost`: so many of the last ones, those that are on time among them.
 */
export type CatchUp = "one" | "skip" | { readonly atMost: number };

/** A schedule's job options hold for each of its jobs. */
export interface ScheduleOptions extends Omit<JobOptions, "jobId" | "delayMs" | "runAt"> {
  /** A cron pattern: minute, hour, day, month, weekday, with seconds before and a year behind if need be. Or `everyMs`. */
  readonly cron?: string;
  /** The zone in whose local time `cron` is meant, such as `Europe/Berlin`. Default UTC, never the machine's. */
  readonly zone?: string;
  /** Due at each multiple of so many ms since 1970, 1,000 to a year. Instead of `cron`. */
  readonly everyMs?: number;
  /** Default `one`. */
  readonly catchUp?: CatchUp;
  /** Raise it with each change: a lower one than the store has is not written, so that no older release comes through. Default 0. */
  readonly version?: number;
}

/** With `slotAs: "at"` the input's member `at` is each slot's own, ms since 1970, and the rest is given here. */
export type ScheduleSpec<Input, Result, Member extends string = never> = ScheduleOptions & {
  readonly job: JobDefinition<Input, Result>;
} & ([Member] extends [never]
    ? undefined extends Input
      ? { readonly input?: Input; readonly slotAs?: undefined }
      : { readonly input: Input; readonly slotAs?: undefined }
    : { readonly slotAs: Member; readonly input: Omit<Input, Member> });

export interface ScheduleView {
  readonly name: string;
  readonly version: number;
  readonly cron: string | undefined;
  readonly zone: string | undefined;
  readonly everyMs: number | undefined;
  readonly catchUp: CatchUp;
  readonly jobName: string;
  readonly queue: string;
  /** As given at `schedule()`, without the slot. */
  readonly input: unknown;
  readonly paused: boolean;
  /** Store time, ms since 1970; undefined while it is paused, and when there is none any more. */
  readonly nextSlotMs: number | undefined;
  /** The last slot that was enqueued, and its job. */
  readonly lastSlotMs: number | undefined;
  readonly lastJobId: JobId | undefined;
  readonly createdAtMs: number;
  readonly changedAtMs: number;
}

const SCHEDULE_SPEC = new Set([
  ...[...JOB_OPTIONS].filter((name) => !["jobId", "delayMs", "runAt"].includes(name)),
  ...["cron", "zone", "everyMs", "catchUp", "version", "job", "input", "slotAs"],
]);

/** More would hold up the worker that finds them. */
const MOST_CAUGHT_UP = 1_000;

/** A spec of any kind. */
export type AnySpec = ScheduleOptions & {
  readonly job: JobDefinition;
  readonly input?: unknown;
  readonly slotAs?: string | undefined;
};

/** @throws {InvalidArgumentError | SchemaMismatchError | UnstorableValueError} nothing was written */
export async function definitionOf(
  name: string,
  spec: AnySpec,
  world: World,
  maxBytes: number,
): Promise<ScheduleDefinition> {
  checkName("name", name);
  checkKnown("spec", spec, SCHEDULE_SPEC);
  const { cron, zone, everyMs, catchUp, version = 0, job, input, slotAs, ...options } = spec;
  const timing = timingOf(cron, zone, everyMs);
  const calendar = calendarOf(timing);
  if (!Number.isSafeInteger(version) || version < 0) {
    throw new InvalidArgumentError("version", version, "a whole number from 0 up");
  }
  const slotMs = calendar(world.clock.wallMs());
  if (slotMs === null)
    throw new InvalidArgumentError("cron", cron, "a pattern that still has a time to come");
  const atMost = atMostOf(catchUp);
  const sample = slotAs === undefined ? input : withSlot(input, slotAs, slotMs);
  const made = await newJob(job, sample, options, world, maxBytes);
  const { jobId: _, mayRepeat: __, due: ___, ...template } = made;
  const whole: JobTemplate =
    slotAs === undefined
      ? { ...template, slotAs: null }
      : { ...template, input: JSON.stringify(input), slotAs };
  return { name, version, timing, atMost, template: whole };
}

function timingOf(cron: string | undefined, zone: string | undefined, everyMs: number | undefined): Timing {
  if (everyMs === undefined) {
    if (cron === undefined) throw new InvalidArgumentError("cron", cron, "either cron or everyMs");
    return { cron, zone: zone ?? "UTC" };
  }
  if (cron !== undefined)
    throw new InvalidArgumentError("everyMs", everyMs, "either cron or everyMs, not both");
  if (zone !== undefined)
    throw new InvalidArgumentError("zone", zone, "a zone to cron alone: everyMs has none");
  return { everyMs };
}

function withSlot(input: unknown, slotAs: string, slotMs: number): unknown {
  checkName("slotAs", slotAs);
  if (typeof input !== "object" || input === null || Array.isArray(input) || slotAs === "__proto__") {
    throw new InvalidArgumentError("input", input, "an object, which slotAs adds a member to");
  }
  if (slotAs in input)
    throw new InvalidArgumentError("slotAs", slotAs, "a member that the input does not have yet");
  return { ...input, [slotAs]: slotMs };
}

function atMostOf(catchUp: CatchUp = "one"): number {
  if (catchUp === "one") return 1;
  if (catchUp === "skip") return 0;
  const atMost = (catchUp as { readonly atMost?: unknown } | null)?.atMost;
  if (typeof atMost !== "number" || !Number.isInteger(atMost) || atMost < 1 || atMost > MOST_CAUGHT_UP) {
    throw new InvalidArgumentError("catchUp", catchUp, `"one", "skip" or { atMost: 1 to ${MOST_CAUGHT_UP} }`);
  }
  return atMost;
}

export function scheduleView(schedule: Schedule): ScheduleView {
  const { name, version, timing, atMost, template, paused, lastSlotMs, createdAtMs, changedAtMs } = schedule;
  return {
    name,
    version,
    cron: "cron" in timing ? timing.cron : undefined,
    zone: "cron" in timing ? timing.zone : undefined,
    everyMs: "cron" in timing ? undefined : timing.everyMs,
    catchUp: atMost === 0 ? "skip" : atMost === 1 ? "one" : { atMost },
    jobName: template.name,
    queue: template.queue,
    input: JSON.parse(template.input) as unknown,
    paused,
    nextSlotMs: paused ? undefined : (schedule.nextSlotMs ?? undefined),
    lastSlotMs: lastSlotMs ?? undefined,
    lastJobId: lastSlotMs === null ? undefined : slotJobId(name, lastSlotMs),
    createdAtMs,
    changedAtMs,
  };
}
