import type { JobDefinition } from "../../src/client/define-job.ts";
import type { Leasehold } from "../../src/client/leasehold.ts";
import { StoreBusyError, UnknownOutcomeError } from "../../src/errors.ts";
import type { OnFailure } from "../../src/protocol/blocking.ts";
import type { JobId } from "../../src/protocol/identity.ts";
import type { Chance } from "./chance.ts";
import type { Position } from "./primary.ts";
import type { Heard, RemoteStore } from "./remote-store.ts";
import type { SimProcess } from "./sim-process.ts";
import type { Input, Terms } from "./workload.ts";

/** Whom a job waits for, and whether any end of theirs lets it go. */
export interface Behind {
  readonly ids: readonly JobId[];
  readonly isAny: boolean;
}

export const SCHEDULE = "every now and then";

interface Planned {
  readonly jobId: JobId;
  readonly input: Input;
  readonly priority: number;
  readonly delayMs: number;
  readonly queue: string;
  readonly after: readonly JobId[];
  readonly onFailure: OnFailure;
  readonly onConflict: "keep" | "throw" | "replace" | "followUp";
}

/** The client: enqueues over the first half of the run, and repeats what had no answer under the same id. */
export class Enqueueing {
  /** Jobs that the store has answered for, and where that answer stood. */
  readonly acknowledged = new Map<JobId, Position>();
  readonly behind: Map<JobId, Behind>;
  /** How many calls have not been answered yet. */
  open = 0;
  /** The store's time at the last of the looks by which the schedule was made, or found made: from then on its slots count. */
  scheduledFromMs: number | undefined;
  readonly #terms: Terms;
  readonly #chance: Chance;
  readonly #client: Leasehold;
  readonly #job: JobDefinition<Input, unknown>;
  readonly #process: SimProcess;
  #position: Position | undefined;
  #lookedMs: number | undefined;

  constructor(
    terms: Terms,
    chance: Chance,
    process: SimProcess,
    remote: RemoteStore,
    client: Leasehold,
    job: JobDefinition<Input, unknown>,
    behind: Map<JobId, Behind>,
  ) {
    this.#terms = terms;
    this.#chance = chance;
    this.#process = process;
    this.#client = client;
    this.#job = job;
    this.behind = behind;
    remote.onAnswer = (heard) => this.#heard(heard);
  }

  start(): void {
    const { terms, chance } = { terms: this.#terms, chance: this.#chance };
    const planned: JobId[] = [];
    for (let n = 0; n < terms.jobs; ) {
      const atMs = chance.between(0, terms.safetyMs / 2);
      if (chance.happens(terms.batches) && terms.jobs - n >= 2) {
        const members = [this.#plan([]), this.#plan([])];
        n += members.length;
        this.#at(atMs, () => this.#batch(`batch ${n}`, members, this.#plan([])));
        continue;
      }
      const job = this.#plan(chance.happens(terms.waiting) ? planned.slice(-2) : []);
      planned.push(job.jobId);
      n++;
      this.#at(atMs, () => this.#one(job));
    }
    if (terms.everyMs !== undefined) this.#at(chance.between(0, terms.leaseMs), () => this.#schedule());
  }

  /** No slot comes any more. */
  async endSchedule(): Promise<void> {
    if (this.#terms.everyMs === undefined) return;
    this.open++;
    await this.#until(() => this.#client.schedules.pause(SCHEDULE));
    this.open--;
  }

  #at(ms: number, call: () => Promise<unknown>): void {
    this.open++;
    this.#process.later(ms, () => {
      void call().finally(() => {
        this.open--;
      });
    });
  }

  #plan(after: readonly JobId[]): Planned {
    const { terms, chance } = { terms: this.#terms, chance: this.#chance };
    const hasResource = terms.resources > 0 && chance.happens(0.6);
    const isKeyed = after.length === 0 && chance.happens(terms.keyed);
    return {
      jobId: this.#process.world.ids.jobId(),
      input: {
        resource: hasResource ? `r${chance.whole(1, terms.resources)}` : null,
        key: isKeyed ? `k${chance.whole(1, 2)}` : undefined,
      },
      priority: chance.whole(0, 1),
      delayMs: chance.happens(terms.delayed) ? chance.whole(0, terms.leaseMs) : 0,
      queue: `q${chance.whole(1, terms.queues)}`,
      after,
      onFailure: chance.of(["fail", "run"]),
      onConflict: chance.of(["keep", "throw", "replace", "followUp"]),
    };
  }

  async #one(job: Planned): Promise<void> {
    // Those whom it is to wait for may have gone in as another job, or not at all.
    const after = job.after.filter((id) => this.acknowledged.has(id));
    if (after.length > 0) this.behind.set(job.jobId, { ids: after, isAny: job.onFailure === "run" });
    const answer = await this.#until(() =>
      this.#client.enqueue(this.#job, job.input, {
        jobId: job.jobId,
        priority: job.priority,
        delayMs: job.delayMs,
        queue: job.queue,
        ...(after.length === 0 ? {} : { after, onFailure: job.onFailure }),
        ...(job.input.key === undefined
          ? {}
          : { unique: { key: job.input.key, onConflict: job.onConflict } }),
      }),
    );
    if (answer !== undefined) this.#acknowledge(answer.jobId);
  }

  /** `then` comes when all members have ended, however they do. */
  async #batch(name: string, members: readonly Planned[], then: Planned): Promise<void> {
    const entryOf = ({ jobId, input, priority, queue }: Planned) => ({
      job: this.#job,
      input: { ...input, key: undefined },
      jobId,
      priority,
      queue,
    });
    this.behind.set(then.jobId, { ids: members.map(({ jobId }) => jobId), isAny: true });
    const answers = await this.#until(() =>
      // biome-ignore lint/suspicious/noThenProperty: the option's name, and nothing that can be called
      this.#client.enqueueMany(members.map(entryOf), { batch: { name, then: entryOf(then) } }),
    );
    for (const { jobId } of answers ?? []) this.#acknowledge(jobId);
    if (answers !== undefined) this.#acknowledge(then.jobId);
  }

  async #schedule(): Promise<void> {
    const { everyMs } = this.#terms;
    const isWhole = everyMs === 1_000 || everyMs === 2_000 || everyMs === 3_000;
    const timing =
      isWhole && this.#chance.happens(0.5)
        ? { cron: `*/${everyMs / 1_000} * * * * *` }
        : { everyMs: everyMs as number };
    const spec = {
      job: this.#job,
      input: { resource: null },
      catchUp: { atMost: 100 },
      queue: "q1",
      ...timing,
    };
    const made = await this.#until(() => this.#client.schedule(SCHEDULE, spec));
    if (made !== undefined) this.scheduledFromMs = this.#lookedMs;
  }

  /** Repeated while nobody knows, or the store is busy: the same id again is the same job (C1). Undefined when refused. */
  async #until<T>(call: () => Promise<T>): Promise<T | undefined> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof UnknownOutcomeError || error instanceof StoreBusyError)) return undefined;
        await this.#process.world.timers.sleep(5);
      }
    }
  }

  #heard({ method, value, position }: Heard): void {
    this.#position = position;
    if (method !== "schedules.get") return;
    this.#lookedMs = Math.max(this.#lookedMs ?? 0, (value as { readonly nowMs: number }).nowMs);
  }

  #acknowledge(id: JobId): void {
    if (this.#position !== undefined) this.acknowledged.set(id, this.#position);
  }
}
