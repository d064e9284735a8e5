import { type Firing, type Schedule, slotJob } from "../../protocol/schedule.ts";
import {
  type DueSchedules,
  type FiringAnswer,
  type ScheduleStore,
  type ScheduleWrite,
  SET_BACK_MS,
} from "../schedules.ts";
import type { CallOptions } from "../store.ts";
import { enqueue } from "./enqueuing.ts";
import type { Moment } from "./state.ts";
import type { StateKeeper } from "./state-keeper.ts";

/** A schedule, and the store's time when its next slot was noted. */
export interface KeptSchedule {
  readonly schedule: Schedule;
  readonly setAtMs: number;
}

export class MemorySchedules implements ScheduleStore {
  readonly #keeper: StateKeeper;

  constructor(keeper: StateKeeper) {
    this.#keeper = keeper;
  }

  async due(limit: number): Promise<DueSchedules> {
    const nowMs = this.#keeper.nowMs();
    const waiting = [...this.#keeper.state.schedules.values()].filter(({ schedule }) => !schedule.paused);
    const isDue = ({ schedule, setAtMs }: KeptSchedule): boolean =>
      setAtMs > nowMs + SET_BACK_MS || (schedule.nextSlotMs !== null && schedule.nextSlotMs <= nowMs);
    const slots = waiting.flatMap((kept) =>
      isDue(kept) || kept.schedule.nextSlotMs === null ? [] : [kept.schedule.nextSlotMs],
    );
    return {
      nowMs,
      due: waiting
        .filter(isDue)
        .map(({ schedule }) => schedule)
        .sort((one, other) => (one.nextSlotMs ?? 0) - (other.nextSlotMs ?? 0))
        .slice(0, limit),
      nextDueInMs: slots.length === 0 ? undefined : Math.min(...slots) - nowMs,
    };
  }

  fire(firings: readonly Firing[], options: CallOptions): Promise<readonly FiringAnswer[]> {
    return this.#keeper.write("fire", options, "anything", (at) => firings.map((firing) => fire(at, firing)));
  }

  put(
    write: ScheduleWrite,
    found: Pick<Schedule, "revision" | "nextSlotMs"> | undefined,
    options: CallOptions,
  ): Promise<boolean> {
    return this.#keeper.write("put", options, "nothing", ({ state, nowMs }) => {
      const known = state.schedules.get(write.name)?.schedule;
      if (known?.revision !== found?.revision || known?.nextSlotMs !== found?.nextSlotMs) return false;
      const schedule = { ...write, createdAtMs: known?.createdAtMs ?? nowMs, changedAtMs: nowMs };
      state.schedules.set(write.name, { schedule, setAtMs: nowMs });
      return true;
    });
  }

  remove(name: string, options: CallOptions): Promise<boolean> {
    return this.#keeper.write("remove", options, "nothing", ({ state }) => state.schedules.delete(name));
  }

  async get(name: string): Promise<{ readonly nowMs: number; readonly schedule: Schedule | undefined }> {
    const schedule = this.#keeper.state.schedules.get(name)?.schedule;
    return { nowMs: this.#keeper.nowMs(), schedule };
  }

  async list({
    limit,
    after,
  }: {
    readonly limit: number;
    readonly after?: string;
  }): Promise<readonly Schedule[]> {
    return [...this.#keeper.state.schedules.values()]
      .map(({ schedule }) => schedule)
      .filter(({ name }) => after === undefined || Buffer.compare(Buffer.from(name), Buffer.from(after)) > 0)
      .sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)))
      .slice(0, limit);
  }
}

function fire(at: Moment, firing: Firing): FiringAnswer {
  const { state, nowMs } = at;
  const { name, slots, nextSlotMs, covered, lastSlotMs } = firing;
  const known = state.schedules.get(name)?.schedule;
  if (known === undefined || known.paused || known.revision !== firing.revision) return { outcome: "stale" };
  if (known.nextSlotMs !== firing.foundSlotMs || (slots.at(-1) ?? 0) > nowMs) return { outcome: "stale" };
  const schedule = { ...known, nextSlotMs, covered, lastSlotMs };
  state.schedules.set(name, { schedule, setAtMs: nowMs });
  return {
    outcome: "applied",
    jobs: enqueue(
      at,
      slots.map((slot) => slotJob(name, known.template, slot)),
    ),
  };
}
