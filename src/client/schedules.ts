import { isDeepStrictEqual } from "node:util";
import type { World } from "../clock/world.ts";
import { GoneError, StoreBusyError, UniqueConflictError } from "../errors.ts";
import { type Schedule, type ScheduleDefinition, templateJob } from "../protocol/schedule.ts";
import { closedUpTo, firing, nextOpen } from "../protocol/slots.ts";
import { calendarOf } from "../schedules/next-slot.ts";
import type { CallOptions, Store } from "../stores/store.ts";
import type { Enqueued } from "./enqueued.ts";
import type { Enqueuer } from "./enqueuer.ts";
import type { Log } from "./log.ts";
import { checkCount, checkName } from "./names.ts";
import { type AnySpec, definitionOf, type ScheduleView, scheduleView } from "./schedule-spec.ts";

/**
 * What became of `schedule()`. `older`: the store has a definition of a higher version, which stays; a warning is logged.
 */
export interface Scheduled {
  readonly outcome: "created" | "changed" | "unchanged" | "older";
  /** What the store has now. */
  readonly schedule: ScheduleView;
}

/** `already`: it was so before. `gone`: there is no schedule of that name. */
export interface ScheduleAnswer {
  readonly outcome: "applied" | "already" | "gone";
}

/** How often a schedule is written that others change at the same time. */
const TRIES = 50;

interface Parts {
  readonly world: World;
  readonly store: Store;
  readonly log: Log;
  readonly call: CallOptions;
  readonly enqueuer: Enqueuer;
  readonly maxInputBytes: number;
}

/** What `leasehold.schedules` is: the schedules that the store has, whoever made them. */
export class Schedules {
  readonly #parts: Parts;
  readonly #changed = new Set<() => void>();

  /** Made by `Leasehold`; not to be called. */
  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** For `leasehold.schedule`, which says what it promises. */
  async put(name: string, spec: AnySpec): Promise<Scheduled> {
    const { world, maxInputBytes, log } = this.#parts;
    const definition = await definitionOf(name, spec, world, maxInputBytes);
    const told: { outcome: Scheduled["outcome"] } = { outcome: "created" };
    const schedule = await this.#change(name, (found) => {
      told.outcome = outcomeOf(found, definition);
      const stays = told.outcome === "unchanged" || told.outcome === "older";
      return stays ? undefined : { ...found, ...definition };
    });
    const { outcome } = told;
    const called = `the schedule ${JSON.stringify(name)}`;
    if (outcome === "older") {
      const message = `${called} stays at version ${schedule?.version}; version ${definition.version} is older and was not written`;
      log({ level: "warning", kind: "schedule_older", message });
    } else if (outcome === "changed") {
      log({ level: "info", kind: "schedule_changed", message: `${called} has another definition now` });
    }
    return { outcome, schedule: scheduleView(schedule as Schedule) };
  }

  /** In the order of their names. Pass the last one's as `after` for the next page. */
  async list(page: { readonly limit?: number; readonly after?: string } = {}): Promise<ScheduleView[]> {
    const { limit = 100, after } = page;
    checkCount("limit", limit);
    const found = await this.#parts.store.schedules.list(
      after === undefined ? { limit } : { limit, after },
      this.#parts.call,
    );
    return found.map(scheduleView);
  }

  async get(name: string): Promise<ScheduleView | undefined> {
    const schedule = await this.#find(name);
    return schedule && scheduleView(schedule);
  }

  /** No slot is enqueued from now on; one that came before now still is, unless it was missed. What runs goes on. */
  pause(name: string): Promise<ScheduleAnswer> {
    return this.#setPaused(name, true);
  }

  /** Goes on with the first slot after now: those within the pause are passed over, whatever `catchUp` says. */
  resume(name: string): Promise<ScheduleAnswer> {
    return this.#setPaused(name, false);
  }

  /** Enqueues a job of the schedule at once, besides its slots; also while it is paused. @throws {GoneError} */
  async run(name: string): Promise<Enqueued> {
    const { world, store, call, enqueuer } = this.#parts;
    const { nowMs, schedule } = await store.schedules.get(checked(name), call);
    if (schedule === undefined) throw new GoneError(`Schedule ${JSON.stringify(name)}`);
    const job = templateJob(schedule.template, world.ids.jobId(), nowMs);
    const answer = await enqueuer.one(job);
    if (answer.outcome === "conflict")
      throw new UniqueConflictError(job.name, job.unique?.key ?? "", answer.jobId, answer.state);
    return answer;
  }

  /**
   * Jobs that it has enqueued stay. Made anew under its name it does not repeat a slot whose job the store still knows:
   * a slot's job id is made of the name and the slot alone.
   */
  async remove(name: string): Promise<ScheduleAnswer> {
    const removed = await this.#parts.store.schedules.remove(checked(name), this.#parts.call);
    return { outcome: removed ? "applied" : "gone" };
  }

  /** Calls `fn` after a change by this client, until the answer is called. For its own workers: others look by themselves. */
  onChange(fn: () => void): () => void {
    this.#changed.add(fn);
    return () => void this.#changed.delete(fn);
  }

  async #find(name: string): Promise<Schedule | undefined> {
    return (await this.#parts.store.schedules.get(checked(name), this.#parts.call)).schedule;
  }

  async #setPaused(name: string, paused: boolean): Promise<ScheduleAnswer> {
    let outcome: ScheduleAnswer["outcome"] = "gone";
    await this.#change(checked(name), (found) => {
      outcome = found === undefined ? "gone" : found.paused === paused ? "already" : "applied";
      return found !== undefined && outcome === "applied" ? { ...found, paused } : undefined;
    });
    return { outcome };
  }

  /**
   * Changes a schedule as of the store's time at the look: what was due until then is enqueued first, by the definition that
   * was in force; what comes after goes by the new one. So no slot is lost between the two, and none is theirs both.
   *
   * @param change undefined: it stays as it is
   * @returns what the store has afterwards
   */
  async #change(
    name: string,
    change: (found: Schedule | undefined) => (ScheduleDefinition & { readonly paused?: boolean }) | undefined,
  ): Promise<Schedule | undefined> {
    const { world, store, call } = this.#parts;
    const beganMs = world.clock.monotonicMs();
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const { nowMs, schedule: found } = await store.schedules.get(name, call);
      const wanted = change(found);
      if (wanted === undefined) return found;
      if (found !== undefined && !found.paused) {
        // Who pauses wants no catching up; a changed definition does.
        const atMost = wanted.paused === true ? 0 : found.atMost;
        const due = firing({ ...found, atMost }, nowMs, calendarOf(found.timing));
        if (due.slots.length > 0) {
          await store.schedules.fire([due], call);
          continue;
        }
      }
      const covered = closedUpTo(found?.covered ?? [], nowMs);
      const paused = wanted.paused ?? false;
      const nextSlotMs = nextOpen(covered, nowMs, calendarOf(wanted.timing));
      const { name: _, version, timing, atMost, template } = wanted;
      const revision = world.ids.jobId();
      const lastSlotMs = found?.lastSlotMs ?? null;
      const write = {
        name,
        version,
        timing,
        atMost,
        template,
        revision,
        paused,
        covered,
        nextSlotMs,
        lastSlotMs,
      };
      if (!(await store.schedules.put(write, found, call))) continue;
      for (const fn of this.#changed) fn();
      return (
        (await store.schedules.get(name, call)).schedule ?? {
          ...write,
          createdAtMs: nowMs,
          changedAtMs: nowMs,
        }
      );
    }
    throw new StoreBusyError("schedule", world.clock.monotonicMs() - beganMs);
  }
}

/**
 * Which of two definitions is the newer one (two releases may run side by side): the one of the higher version; of one
 * version the one that was made known last. When it was made known is no measure, since an older release makes its own
 * known again whenever it is restarted; nor are the definitions themselves, since a release that was rolled back on purpose
 * looks the same. Only whoever writes them knows, and says so by `version`.
 */
function outcomeOf(found: Schedule | undefined, wanted: ScheduleDefinition): Scheduled["outcome"] {
  if (found === undefined) return "created";
  if (wanted.version < found.version && !isSame(found, wanted)) return "older";
  return wanted.version <= found.version && isSame(found, wanted) ? "unchanged" : "changed";
}

function isSame(one: ScheduleDefinition, other: ScheduleDefinition): boolean {
  return (
    one.atMost === other.atMost &&
    isDeepStrictEqual(one.timing, other.timing) &&
    isDeepStrictEqual(one.template, other.template)
  );
}

function checked(name: string): string {
  checkName("name", name);
  return name;
}
