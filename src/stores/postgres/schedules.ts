import type { NewJob } from "../../protocol/enqueue.ts";
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
import type { Sql } from "./statements.ts";

/** How the store runs what stands here. */
export interface ScheduleCalls {
  transaction<T>(operation: string, options: CallOptions, fn: (sql: Sql) => Promise<T>): Promise<T>;
  read<T>(operation: string, options: CallOptions, fn: (sql: Sql) => Promise<T>): Promise<T>;
  /** Something has become due. */
  dueNow(): void;
}

export class PostgresSchedules implements ScheduleStore {
  readonly #calls: ScheduleCalls;

  constructor(calls: ScheduleCalls) {
    this.#calls = calls;
  }

  due(limit: number, options: CallOptions): Promise<DueSchedules> {
    return this.#calls.read("due schedules", options, async (sql) => {
      const rows = await sql.rows<ScheduleRow>("due schedules", [SET_BACK_MS, limit]);
      const nowMs = Number(rows[0]?.["now"]);
      const later = rows[0]?.["later"];
      return {
        nowMs,
        due: rows.filter(({ name }) => name !== null).map(dueFromRow),
        nextDueInMs: typeof later === "number" ? later - nowMs : undefined,
      };
    });
  }

  async fire(firings: readonly Firing[], options: CallOptions): Promise<readonly FiringAnswer[]> {
    if (firings.length === 0) return [];
    const answers = await this.#calls.transaction("fire", options, (sql) => fire(sql, firings));
    if (answers.some(({ outcome }) => outcome === "applied")) this.#calls.dueNow();
    return answers;
  }

  put(
    schedule: ScheduleWrite,
    found: Pick<Schedule, "revision" | "nextSlotMs"> | undefined,
    options: CallOptions,
  ): Promise<boolean> {
    const columns = JSON.stringify({ ...scheduleColumns(schedule), paused: schedule.paused });
    return this.#calls.transaction("put schedule", options, async (sql) => {
      const written =
        found === undefined
          ? await sql.rows("add schedule", [columns])
          : await sql.rows("replace schedule", [columns, found.revision, found.nextSlotMs]);
      return written.length === 1;
    });
  }

  remove(name: string, options: CallOptions): Promise<boolean> {
    return this.#calls.transaction(
      "remove schedule",
      options,
      async (sql) => (await sql.rows("remove schedule", [name])).length === 1,
    );
  }

  get(
    name: string,
    options: CallOptions,
  ): Promise<{ readonly nowMs: number; readonly schedule: Schedule | undefined }> {
    return this.#calls.read("get schedule", options, async (sql) => {
      const [row] = await sql.rows<ScheduleRow>("find schedule", [name]);
      const nowMs = Number(row?.["now"]);
      return {
        nowMs,
        schedule: row === undefined || row["name"] === null ? undefined : scheduleFromRow(row),
      };
    });
  }

  list(
    { limit, after = "" }: { readonly limit: number; readonly after?: string },
    options: CallOptions,
  ): Promise<readonly Schedule[]> {
    return this.#calls.read("list schedules", options, async (sql) =>
      (await sql.rows<ScheduleRow>("list schedules", [after, limit])).map(scheduleFromRow),
    );
  }
}

async function fire(sql: Sql, firings: readonly Firing[]): Promise<FiringAnswer[]> {
  const asked = firings.map(({ name, revision, foundSlotMs: found, slots }, n) => ({
    n,
    name,
    revision,
    found,
    due: slots.at(-1) ?? 0,
  }));
  const locked = await sql.rows<Locked>("lock schedules", [JSON.stringify(asked)]);
  // Of two that would do, the first makes the other stale.
  const byName = new Map(locked.toReversed().map((row) => [row.name, row]));
  const applied = firings.filter(({ name }, n) => byName.get(name)?.n === n);
  if (applied.length === 0) return firings.map(() => ({ outcome: "stale" }));
  const noted = applied.map(({ name, nextSlotMs, covered, lastSlotMs }) => ({
    name,
    next_slot: nextSlotMs,
    covered: JSON.stringify(covered),
    last_slot: lastSlotMs,
  }));
  await sql.rows("note firings", [JSON.stringify(noted)]);
  const jobs = applied.flatMap(({ name, slots }): NewJob[] => {
    const template = JSON.parse(byName.get(name)?.template ?? "") as JobTemplate;
    return slots.map((slot) => slotJob(name, template, slot));
  });
  const queues = [...new Set(jobs.map(({ queue }) => queue))];
  if (queues.length > 0) await sql.rows("add queues", [JSON.stringify(queues)]);
  const enqueued = await enqueue(sql, jobs);
  const isApplied = new Set(applied);
  let from = 0;
  return firings.map((firing) => {
    if (!isApplied.has(firing)) return { outcome: "stale" };
    from += firing.slots.length;
    return { outcome: "applied", jobs: enqueued.slice(from - firing.slots.length, from) };
  });
}

interface Locked {
  readonly n: number;
  readonly name: string;
  readonly template: string;
}
