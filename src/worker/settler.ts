import type { Log } from "../client/log.ts";
import type { Timer, World } from "../clock/world.ts";
import { StoreBusyError, UnknownOutcomeError } from "../errors.ts";
import type { Generation } from "../protocol/identity.ts";
import type { Settlement } from "../protocol/settle.ts";
import type { Store } from "../stores/store.ts";
import { tellHealed, tellTooHigh } from "./healing.ts";
import type { Contact } from "./renewer.ts";
import type { Run } from "./run.ts";

/** More than one claim brings at the usual concurrencies, so that what was claimed together is not settled in two calls. */
const RUNS_PER_CALL = 600;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 1_000;

/**
 * Hands outcomes of runs to the store. All that end in one turn of the event loop share a call; while a call is under
 * way, the next batch gathers. An outcome is repeated until the store's answer is known (C11): `applied` and `already`
 * end the run, `stale` and `gone` discard it, `busy` and silence are asked again. Renewal goes on meanwhile. A run that a
 * destination has refused is offered to C19 first, and settled only where that leaves it to a person.
 */
export class Settler {
  readonly #world: World;
  readonly #store: Store;
  readonly #timeoutMs: number;
  readonly #contact: Contact;
  readonly #log: Log;
  #queue: Run[] = [];
  #busy: Run[] = [];
  /** Runs that the store was asked to heal. */
  readonly #healing = new WeakSet<Run>();
  #scheduled = false;
  /** Of a repetition that is to come. */
  #repeat: Timer | undefined;
  #flushing = false;
  #failures = 0;
  #abandoned = false;
  /** After a definite failure of a shared call: one by one, so that it stays with the one that causes it. */
  #alone = 0;

  constructor(world: World, store: Store, timeoutMs: number, contact: Contact, log: Log) {
    this.#world = world;
    this.#store = store;
    this.#timeoutMs = timeoutMs;
    this.#contact = contact;
    this.#log = log;
  }

  /** How many outcomes the store has not confirmed. */
  get backlog(): number {
    return this.#queue.length + this.#busy.length;
  }

  add(run: Run): void {
    this.#queue.push(run);
    this.#schedule();
  }

  /** Gives up what is not known yet: at a stop, with a store out of reach. A call under way is the last one. */
  abandon(): void {
    this.#abandoned = true;
    this.#repeat?.cancel();
    const left = [...this.#queue, ...this.#busy];
    this.#queue = [];
    this.#busy = [];
    for (const run of left) run.abandon();
  }

  #schedule(): void {
    if (this.#scheduled || this.#flushing) return;
    this.#scheduled = true;
    this.#world.timers.nextTurn(this.#next);
  }

  #scheduleAfter(ms: number): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#repeat = this.#world.timers.after(ms * (0.5 + this.#world.random.next()), this.#next);
  }

  readonly #next = (): void => {
    this.#scheduled = false;
    void this.#flush();
  };

  async #flush(): Promise<void> {
    if (this.#flushing) return;
    this.#flushing = true;
    if (this.#busy.length > 0) this.#queue.push(...this.#busy.splice(0));
    const size = this.#alone > 0 ? 1 : RUNS_PER_CALL;
    const batch = this.#queue.length <= size ? this.#queue : this.#queue.slice(0, size);
    this.#queue = this.#queue.length <= size ? [] : this.#queue.slice(size);
    let failed: unknown;
    try {
      if (batch.length > 0) await this.#send(batch);
      this.#failures = 0;
      if (this.#alone > 0) this.#alone -= batch.length;
    } catch (error) {
      failed = error;
      this.#failed(batch, error);
    }
    this.#flushing = false;
    if (this.#abandoned) this.abandon();
    else if (failed !== undefined)
      this.#scheduleAfter(Math.min(FIRST_WAIT_MS * 2 ** (this.#failures - 1), LONGEST_WAIT_MS));
    else if (this.#queue.length > 0) this.#schedule();
    else if (this.#busy.length > 0) this.#scheduleAfter(FIRST_WAIT_MS);
  }

  async #send(batch: readonly Run[]): Promise<void> {
    const refused = batch.filter(({ mark }) => mark !== undefined);
    for (const run of refused) await this.#heal(run);
    const left =
      refused.length === 0
        ? batch
        : batch.filter((run) => run.mark === undefined && run.phase === "settling");
    if (left.length > 0) await this.#settle(left);
  }

  /** One by one: it is as rare as the loss of a store's history. */
  async #heal(run: Run): Promise<void> {
    const mark = run.mark as Generation;
    const { token } = run.lease;
    const what = `${run.claimed.job.name} ${run.fence.jobId}`;
    const isRepeated = this.#healing.has(run);
    this.#healing.add(run);
    this.#contact.asked();
    const answer = await this.#store.heal(run.fence, mark, { timeoutMs: this.#timeoutMs });
    this.#contact.answered();
    const hasHealed =
      answer.outcome === "applied" ||
      // By the earlier call, whose answer got lost.
      (isRepeated && answer.outcome === "stale" && answer.reason === "healed");
    if (hasHealed) {
      tellHealed(this.#log, what, token, mark);
      run.healed(answer.state);
    } else if (answer.outcome === "too_high") {
      tellTooHigh(this.#log, what, token, mark);
      run.mark = undefined;
    } else if (answer.outcome === "busy") {
      this.#busy.push(run);
    } else {
      run.unsettled(answer);
    }
  }

  async #settle(batch: readonly Run[]): Promise<void> {
    const settlements = batch.map((run) => run.settlement as Settlement);
    const completes = settlements.some(({ operation }) => operation === "complete");
    if (completes) this.#world.reached("before-complete-send");
    this.#contact.asked();
    const answers = await this.#store.settle(settlements, { timeoutMs: this.#timeoutMs });
    this.#contact.answered();
    if (completes) this.#world.reached("after-complete-reply");
    for (let i = 0; i < batch.length; i++) {
      const run = batch[i] as Run;
      const answer = answers[i];
      if (answer === undefined || answer.outcome === "busy") this.#busy.push(run);
      else if (answer.outcome === "applied") run.settled(answer);
      else if (answer.outcome === "already") run.settled(undefined);
      else run.unsettled(answer);
    }
  }

  #failed(batch: readonly Run[], error: unknown): void {
    this.#failures++;
    this.#queue = [...batch.filter((run) => run.phase === "settling"), ...this.#queue];
    const passing = error instanceof UnknownOutcomeError || error instanceof StoreBusyError;
    if (!passing && batch.length > 1) this.#alone = batch.length;
    else if (!passing) this.#queue.push(...this.#queue.splice(0, 1));
    const message = `the outcomes of ${batch.length} runs are not known yet; asking again`;
    this.#log({ level: "warning", kind: "settle_repeated", message, error });
  }
}
