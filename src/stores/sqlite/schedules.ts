import { type Firing, type JobTemplate, type Schedule, slotJob } from "../../protocol/schedule.ts";
import { dueFromRow, type ScheduleRow, scheduleColumns, scheduleFromRow } from "../schedule-rows.ts";
import {
  type DueSchedules,
  type FiringAnswer,
  type ScheduleStore,
  type ScheduleWrite,
  SET_BACK_MS,
} from "../schedules.ts";
import type { CallOptions } from "../store.ts";
import { enqueue } from "./enqueue.ts";
import { readMoment } from "./moment.ts";
import type { Statements } from "./statements.ts";

/** How the store runs what stands here. */
export interface ScheduleCalls {
  write<T>(operation: string, options: CallOptions, fn: (statements: Statements) => T): Promise<T>;
  read<T>(operation: string, fn: (statements: Statements) => T): Promise<T>;
  /** Something may have become due. */
  ring(): void;
}

export class SqliteSchedules implements ScheduleStore {
  readonly #calls: ScheduleCalls;

  constructor(calls: ScheduleCalls) {
    this.#calls = calls;
  }

  due(limit: number): Promise<DueSchedules> {
    return this.#calls.read("due schedules", (statements) => {
      const { nowMs } = readMoment(statements);
      const rows = statements.all("due schedules", { now: nowMs, set_back: SET_BACK_MS, limit });
      const next = statements.get<{ next_slot: number | null }>("next slot", { now: nowMs })?.next_slot;
      return {
        nowMs,
        due: rows.map(dueFromRow),
        nextDueInMs: typeof next === "number" ? next - nowMs : undefined,
      };
    });
  }

  async fire(firings: readonly Firing[], options: CallOptions): Promise<readonly FiringAnswer[]> {
    const answers = await this.#calls.write("fire", options, (statements) => {
      const { nowMs } = readMoment(statements);
      return firings.map((firing) => fire(statements, firing, nowMs));
    });
    this.#calls.ring();
    return answers;
  }

  put(
    schedule: ScheduleWrite,
    found: Pick<Schedule, "revision" | "nextSlotMs"> | undefined,
    options: CallOptions,
  ): Promise<boolean> {
    return this.#calls.write("put schedule", options, (statements) => {
      const { nowMs } = readMoment(statements);
      const columns = { ...scheduleColumns(schedule), paused: schedule.paused ? 1 : 0, now: nowMs };
      const written =
        found === undefined
          ? statements.run("add schedule", columns)
          : statements.run("replace schedule", {
              ...columns,
              found_revision: found.revision,
              found: found.nextSlotMs,
            });
      return written === 1;
    });
  }

  remove(name: string, options: CallOptions): Promise<boolean> {
    return this.#calls.write(
      "remove schedule",
      options,
      (statements) => statements.run("remove schedule", { name }) === 1,
    );
  }

  get(name: string): Promise<{ readonly nowMs: number; readonly schedule: Schedule | undefined }> {
    return this.#calls.read("get schedule", (statements) => {
      const { nowMs } = readMoment(statements);
      const row = statements.get<ScheduleRow>("find schedule", { name });
      return { nowMs, schedule: row === undefined ? undefined : scheduleFromRow(row) };
    });
  }

  list({
    limit,
    after = "",
  }: {
    readonly limit: number;
    readonly after?: string;
  }): Promise<readonly Schedule[]> {
    return this.#calls.read("list schedules", (statements) =>
      statements.all("list schedules", { after, limit }).map(scheduleFromRow),
    );
  }
}

function fire(statements: Statements, firing: Firing, nowMs: number): FiringAnswer {
  const { name, slots } = firing;
  const row = statements.get<{ template: string }>("fire schedule", {
    name,
    revision: firing.revision,
    found: firing.foundSlotMs,
    next_slot: firing.nextSlotMs,
    covered: JSON.stringify(firing.covered),
    last_slot: firing.lastSlotMs,
    due: slots.at(-1) ?? 0,
    now: nowMs,
  });
  if (row === undefined) return { outcome: "stale" };
  const template = JSON.parse(row.template) as JobTemplate;
  const jobs = slots.map((slot) => slotJob(name, template, slot));
  return { outcome: "applied", jobs: jobs.length === 0 ? [] : enqueue(statements, jobs) };
}
