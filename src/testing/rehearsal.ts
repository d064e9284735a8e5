import { type ManualWorld, manualWorld } from "../clock/manual.ts";
import { type JobDefinition, type JobView, type JournalEntry, Leasehold, type Store } from "../index.ts";
import { memory } from "../stores/memory/index.ts";
import { faultStore } from "./fault-store.ts";

/** The calls of a run whose reply can be lost. */
export type LosableReply = "claim" | "renew" | "settle" | "write" | "completeWith";

/** How a job came to its end in a rehearsal. */
export interface Rehearsed {
  readonly job: JobView;
  /** Claims, lapses, refusals and ends, oldest first: what `leasehold show` prints. */
  readonly journal: readonly JournalEntry[];
  /** What the store refused, such as the late completion of an owner that was replaced. */
  readonly refused: readonly JournalEntry[];
}

export interface RehearsalOptions {
  /** Decides every random number and id. Default 1. */
  readonly seed?: number;
}

/** A wait that long without an end is a handler that does not end, ms of the rehearsal's own time. */
const LONGEST_MS = 24 * 3_600_000;
const STEP_MS = 50;

/**
 * Two workers, A and B, over a store in memory, on clocks that only the rehearsal moves: for the tests of handlers. What
 * takes minutes outside (a lease lapses, another worker takes over, the first one wakes up) takes milliseconds here.
 * The first attempt runs on A; B works only while A is paused or after `takeOver`.
 *
 * It shows what a handler does when it is replaced, and what your destinations make of it, as far as they are really
 * called. It does not show what a real network or database does.
 */
export class Rehearsal {
  /** Of worker A, on which handlers run. */
  readonly world: ManualWorld;
  /** To enqueue and to look; its worker is A. */
  readonly leasehold: Leasehold;
  readonly #other: ManualWorld;
  readonly #standby: Leasehold;
  readonly #jobs: readonly JobDefinition[];
  readonly #lost = new Map<LosableReply, number>();
  #isPaused = false;

  constructor(jobs: readonly JobDefinition[], { seed = 1 }: RehearsalOptions = {}) {
    this.#jobs = jobs;
    this.world = manualWorld({ seed });
    this.#other = manualWorld({ seed: seed + 1 });
    const store: Store = memory({ nowMs: () => this.#other.clock.wallMs(), timers: this.#other.timers });
    const unreliable = faultStore(store, ({ method }) => (this.#loses(method) ? "drop reply" : "none"));
    const log = (): void => {};
    this.leasehold = new Leasehold({ store: unreliable, world: this.world, log });
    this.#standby = new Leasehold({ store, world: this.#other, log });
  }

  /** Enqueues the job and works on it until it has ended, whatever happens to it on the way. */
  async run<Input, Result>(job: JobDefinition<Input, Result>, input: Input): Promise<Rehearsed> {
    const { jobId } = await this.leasehold.enqueue(job as JobDefinition, input as never);
    const worker = this.leasehold.work(this.#jobs, { renewer: "inline" });
    try {
      for (let passedMs = 0; passedMs < LONGEST_MS; passedMs += STEP_MS) {
        await this.#advance(STEP_MS);
        const view = await this.#standby.get(jobId);
        if (view !== undefined && view.state !== "ready" && view.state !== "leased") break;
      }
      // What a replaced owner still does is part of the story.
      for (let n = 0; n < 100 && worker.running > 0; n++) await this.#advance(STEP_MS);
    } finally {
      const stopping = worker.stop({ graceMs: 0 });
      await this.#advance(5_000);
      await stopping;
    }
    const view = await this.#standby.get(jobId);
    if (view === undefined) throw new Error(`Job ${jobId} is gone`);
    const journal = await this.#standby.journal(jobId);
    return { job: view, journal, refused: journal.filter(({ kind }) => kind === "refused") };
  }

  /**
   * To be awaited where the handler, or what it calls, should stand still: A is stopped there for longer than its lease, B
   * takes the job over and runs it to its end or next back-off, and then A goes on as if nothing had happened. Only
   * the first call pauses; on B it does nothing.
   */
  async pauseBeyondLease(): Promise<void> {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.world.freeze();
    await this.#passAndWork();
    this.world.thaw();
  }

  /** As `pauseBeyondLease`, but A goes on running meanwhile and cannot reach the store: its leases lapse under it. */
  async takeOver(): Promise<void> {
    if (this.#isPaused) return;
    this.#isPaused = true;
    for (const reply of ["claim", "renew"] as const) this.#lost.set(reply, Number.POSITIVE_INFINITY);
    await this.#passAndWork();
    this.#lost.clear();
  }

  /** The reply of A's next `times` calls of this kind is lost: the store has done what was asked, and A cannot know. */
  loseReply(reply: LosableReply, times = 1): void {
    this.#lost.set(reply, times);
  }

  async close(): Promise<void> {
    await Promise.all([this.leasehold.close(), this.#standby.close()]);
  }

  #loses(method: string): boolean {
    const left = this.#lost.get(method as LosableReply) ?? 0;
    if (left <= 0) return false;
    this.#lost.set(method as LosableReply, left - 1);
    return true;
  }

  async #passAndWork(): Promise<void> {
    const longestMs = Math.max(...this.#jobs.map(({ leaseMs }) => leaseMs));
    this.#pass(2 * longestMs);
    let isDone = false;
    const draining = this.#standby.drain(this.#jobs, { renewer: "inline" }).finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await this.#other.advance(STEP_MS);
      this.world.stepMonotonic(STEP_MS);
      this.world.stepWall(STEP_MS);
    }
    await draining;
  }

  /** Time passes for both, and nothing runs. */
  #pass(ms: number): void {
    for (const world of [this.world, this.#other]) {
      world.stepMonotonic(ms);
      world.stepWall(ms);
    }
  }

  async #advance(ms: number): Promise<void> {
    await this.#other.advance(ms);
    await this.world.advance(ms);
  }
}
