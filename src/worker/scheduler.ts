import type { Log } from "../client/log.ts";
import type { Timer, World } from "../clock/world.ts";
import { StoreBusyError, UnknownOutcomeError } from "../errors.ts";
import type { DueSchedule, Firing } from "../protocol/schedule.ts";
import { firing } from "../protocol/slots.ts";
import { calendarOf } from "../schedules/next-slot.ts";
import type { FiringAnswer } from "../stores/schedules.ts";
import type { Store } from "../stores/store.ts";
import type { Emitter } from "./emitter.ts";
import type { WorkerEvents } from "./events.ts";

/** Without a slot to come sooner: how long until the next look, ms. What others have scheduled meanwhile is seen then. */
const LONGEST_SLEEP_MS = 5_000;
/** Workers that wait for the same slot come one after the other, ms: most of them then find it fired. */
const SPREAD_MS = 50;
const SCHEDULES_PER_LOOK = 200;
/** How long calendars may be asked before the event loop gets a turn, ms. */
const TURN_BUDGET_MS = 10;

/**
 * Enqueues the slots of schedules that are due; each worker does, for all schedules, whether or not their jobs are its own.
 * What is due and when to look again is the store's answer (T1); who was slower is refused and writes nothing.
 *
 * It does not listen for wake-ups, which come with every job: a look every few seconds costs less than to tell them apart.
 */
export class Scheduler {
  readonly #world: World;
  readonly #store: Store;
  readonly #events: Emitter<WorkerEvents>;
  readonly #log: Log;
  readonly #timeoutMs: number;
  #timer: Timer | undefined;
  #looking: Promise<void> | undefined;
  /** Somebody changed a schedule during a look. */
  #again = false;
  #stopped = false;

  constructor(world: World, store: Store, events: Emitter<WorkerEvents>, log: Log, timeoutMs: number) {
    this.#world = world;
    this.#store = store;
    this.#events = events;
    this.#log = log;
    this.#timeoutMs = timeoutMs;
  }

  start(): void {
    this.#sleep(0);
  }

  /** A schedule of this process was changed. */
  poke(): void {
    if (this.#looking === undefined) this.#sleep(0);
    else this.#again = true;
  }

  /** Resolves when a look that is under way has come to its end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#looking;
  }

  #sleep(ms: number): void {
    this.#timer?.cancel();
    if (this.#stopped) return;
    const waitMs = ms + SPREAD_MS * this.#world.random.next();
    this.#timer = this.#world.timers.after(waitMs, () => this.#wake(), { background: true });
  }

  #wake(): void {
    this.#again = false;
    this.#looking = this.#look()
      .catch((error: unknown) => {
        this.#failed(error, "finding due schedules failed; trying again");
        return LONGEST_SLEEP_MS;
      })
      .then((nextInMs) => {
        this.#looking = undefined;
        this.#sleep(this.#again ? 0 : nextInMs);
      });
  }

  /** In how many ms to look again. */
  async #look(): Promise<number> {
    for (;;) {
      const options = { timeoutMs: this.#timeoutMs };
      const { nowMs, due, nextDueInMs } = await this.#store.schedules.due(SCHEDULES_PER_LOOK, options);
      const firings = await this.#decide(due, nowMs);
      const fired = firings.length === 0 ? 0 : await this.#fire(firings, nowMs);
      const maybeMore = due.length === SCHEDULES_PER_LOOK && fired > 0;
      if (maybeMore && !this.#stopped) continue;
      const next = firings.flatMap(({ nextSlotMs }) => (nextSlotMs === null ? [] : [nextSlotMs - nowMs]));
      return Math.min(LONGEST_SLEEP_MS, nextDueInMs ?? LONGEST_SLEEP_MS, ...next);
    }
  }

  async #decide(due: readonly DueSchedule[], nowMs: number): Promise<Firing[]> {
    const firings: Firing[] = [];
    let turnBeganMs = this.#world.clock.monotonicMs();
    for (const schedule of due) {
      try {
        firings.push(firing(schedule, nowMs, calendarOf(schedule.timing)));
      } catch (error) {
        this.#failed(error, `the schedule ${JSON.stringify(schedule.name)} cannot be read by this version`);
      }
      if (this.#world.clock.monotonicMs() - turnBeganMs < TURN_BUDGET_MS) continue;
      await new Promise<void>((resolve) => this.#world.timers.nextTurn(resolve));
      turnBeganMs = this.#world.clock.monotonicMs();
    }
    return firings;
  }

  /** How many were applied. */
  async #fire(firings: readonly Firing[], nowMs: number): Promise<number> {
    try {
      const answers = await this.#store.schedules.fire(firings, { timeoutMs: this.#timeoutMs });
      for (const [i, answer] of answers.entries()) this.#tell(firings[i] as Firing, answer, nowMs);
      return answers.filter(({ outcome }) => outcome === "applied").length;
    } catch (error) {
      if (firings.length <= 1 || error instanceof UnknownOutcomeError || error instanceof StoreBusyError) {
        this.#failed(error, "enqueuing due schedules failed; trying again");
        return 0;
      }
    }
    // One of them may be what the store refuses: it must not keep the others.
    let fired = 0;
    for (const one of firings) fired += await this.#fire([one], nowMs);
    return fired;
  }

  #tell({ name, slots }: Firing, answer: FiringAnswer, nowMs: number): void {
    if (answer.outcome === "stale") return;
    for (const [i, slotMs] of slots.entries()) {
      const enqueued = answer.jobs[i];
      if (enqueued !== undefined)
        this.#events.emit("scheduled", { schedule: name, slotMs, lateMs: nowMs - slotMs, answer: enqueued });
    }
  }

  #failed(error: unknown, message: string): void {
    this.#events.emit("error", { error, during: "schedules" });
    this.#log({ level: "warning", kind: "schedule_failed", message, error });
  }
}
