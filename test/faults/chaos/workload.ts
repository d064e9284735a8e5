import { setTimeout as sleep } from "node:timers/promises";
import { type Enqueued, Leasehold } from "leasehold";
import type { Store } from "../../../src/stores/store.ts";
import type { Chance } from "../../simulation/chance.ts";
import { eventually } from "../../support/eventually.ts";
import type { HistoryFile } from "./processes/history-file.js";
import { chaosJobs } from "./processes/jobs.js";
import { recordedStore } from "./processes/recorded-store.js";
import type { ScheduleOfRun } from "./record.ts";

/** Fewer than there are places, so that somebody has one for a job that is to be taken over. */
const MOST_UNFINISHED = 10;
const EVERY_MS = 70;
/** No job of the workload is delayed for so long. */
const FAR_OFF_MS = 20_000;
const SCHEDULE = "tick";
/** A clock that is set forth makes those of a minute due at once. */
const SCHEDULE_MS = 4_000;
/** In the client's own process: of 100 enqueues whose replies come, so many are taken for lost. */
const LOST_REPLIES = 0.03;

/** The client: enqueues all kinds of jobs, cancels some, and looks whether they have ended. */
export class Workload {
  readonly #leasehold: Leasehold;
  readonly #jobs: ReturnType<typeof chaosJobs>;
  readonly #chance: Chance;
  #scheduledFromMs = 0;
  readonly #later: Promise<unknown>[] = [];

  constructor(store: Store, history: HistoryFile, chance: Chance, leaseMs: number) {
    const faults = {
      losesReply: (op: string) => (op === "enqueue" && chance.happens(LOST_REPLIES) ? 0 : undefined),
    };
    this.#leasehold = new Leasehold({
      store: recordedStore(store, history, faults),
      log: ({ level, kind, message }) => history.note("log", { detail: { level, kind, message } }),
    });
    this.#jobs = chaosJobs(leaseMs, () => Promise.reject(new Error("The client runs no jobs.")));
    this.#chance = chance;
  }

  /** Before anything goes wrong. */
  async schedule(): Promise<void> {
    const { tick } = this.#jobs;
    const spec = { everyMs: SCHEDULE_MS, job: tick, input: { ms: 20 } };
    const { schedule } = await this.#leasehold.schedule(SCHEDULE, spec);
    this.#scheduledFromMs = (schedule.nextSlotMs ?? 0) - 1;
  }

  /** Until `signal` fires; what is under way then is waited for. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const unfinished = await this.unfinished();
      for (let some = Math.min(3, MOST_UNFINISHED - unfinished); some > 0; some--) await this.#enqueueOne();
      await sleep(EVERY_MS, undefined, { signal }).catch(() => {});
    }
    await Promise.all(this.#later);
  }

  /** Ends the schedule once a slot from after the faults has been enqueued: up to the last one, all were due. */
  async endSchedule(): Promise<ScheduleOfRun> {
    const { schedules } = this.#leasehold;
    const healedMs = Date.now();
    await eventually("a slot has been enqueued", async () => {
      const [tick] = await schedules.list();
      // After a clock that was ahead, the next ones have been fired already.
      const isFarOff = (tick?.nextSlotMs ?? 0) > healedMs + 3 * SCHEDULE_MS;
      return isFarOff || (tick?.lastSlotMs ?? 0) > healedMs;
    });
    await schedules.pause(SCHEDULE);
    const [tick] = await schedules.list();
    const { tick: job } = this.#jobs;
    return {
      name: SCHEDULE,
      jobName: job.name,
      timing: { everyMs: SCHEDULE_MS },
      fromMs: this.#scheduledFromMs,
      // One that a clock which was ahead has fired is not the last of those that were due.
      toMs: Math.min(tick?.lastSlotMs ?? 0, Date.now()),
    };
  }

  /** How many jobs have not ended. */
  async unfinished(): Promise<number> {
    const counts = await this.#leasehold.counts();
    if (counts.some(({ delayed }) => delayed > 0)) await this.#cancelFarOff();
    return counts.reduce((sum, { ready, leased }) => sum + ready + leased, 0);
  }

  /** What was put off while the store's clock was ahead would be waited for until that time has come. */
  async #cancelFarOff(): Promise<void> {
    const { jobs } = await this.#leasehold.list({ states: ["ready"] });
    const farOff = jobs.filter(({ runAtMs }) => (runAtMs ?? 0) > Date.now() + FAR_OFF_MS);
    for (const { jobId } of farOff) await this.#told(this.#leasehold.cancel(jobId));
  }

  async enqueueOdd(value: unknown): Promise<void> {
    await this.#told(this.#leasehold.enqueue(this.#jobs.work, value));
  }

  close(): Promise<void> {
    return this.#leasehold.close();
  }

  async #enqueueOne(): Promise<void> {
    const chance = this.#chance;
    const ms = chance.happens(0.3) ? chance.whole(300, 900) : chance.whole(0, 150);
    const kind = chance.next();
    const enqueued = await this.#told(this.#enqueue(kind, ms));
    if (enqueued === undefined || !chance.happens(0.05)) return;
    this.#later.push(
      sleep(chance.between(0, 400)).then(() => this.#told(this.#leasehold.cancel(enqueued.jobId))),
    );
  }

  #enqueue(kind: number, ms: number): Promise<Enqueued> {
    const { work, unique, shared, together } = this.#jobs;
    const chance = this.#chance;
    const leasehold = this.#leasehold;
    if (kind < 0.45) return leasehold.enqueue(work, { ms });
    if (kind < 0.55) return leasehold.enqueue(work, { ms, fails: chance.whole(1, 3) });
    if (kind < 0.57) return leasehold.enqueue(work, { ms, fails: -1 });
    if (kind < 0.67) return leasehold.enqueue(work, { ms }, { delayMs: chance.whole(1, 800) });
    if (kind < 0.77) return leasehold.enqueue(unique, { ms, unique: `key ${chance.whole(1, 3)}` });
    if (kind < 0.87) return leasehold.enqueue(shared, { ms, shares: `account ${chance.whole(1, 3)}` });
    return leasehold.enqueue(together, { ms });
  }

  /** The history has it; whoever called is told nothing when it failed. */
  async #told<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
    return call.catch(() => undefined);
  }
}
