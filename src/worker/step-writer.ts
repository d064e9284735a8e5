import type { World } from "../clock/world.ts";
import { StoreBusyError, UnknownOutcomeError } from "../errors.ts";
import type { StepChange, StepWrite } from "../protocol/step.ts";
import type { RunWriteAnswer, Store } from "../stores/store.ts";
import type { Run } from "./run.ts";
import type { StepAnswer } from "./steps.ts";
import { isAskedAgain } from "./while-trusted.ts";

/** Fewer than of other writes: each may carry a result. */
const WRITES_PER_CALL = 100;
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 1_000;

interface Waiting {
  readonly run: Run;
  readonly write: StepWrite;
  readonly resolve: (answer: StepAnswer) => void;
  readonly reject: (error: unknown) => void;
  /** A call that carried it got no answer, so a later one that wrote nothing says nothing of it. */
  unknown?: unknown;
}

/**
 * Hands steps' records to the store, those of one turn of the event loop in one call. Unlike progress, they are waited
 * for: each is repeated until its answer is known (C11), for as long as its run's lease is trusted, and is asked for once
 * also after that (W5).
 */
export class StepWriter {
  readonly #world: World;
  readonly #store: Store;
  readonly #timeoutMs: number;
  #waiting: Waiting[] = [];
  #scheduled = false;
  #flushing = false;
  #failures = 0;
  /** After a definite failure of a shared call: one by one, so that it stays with the one that causes it. */
  #alone = 0;

  constructor(world: World, store: Store, timeoutMs: number) {
    this.#world = world;
    this.#store = store;
    this.#timeoutMs = timeoutMs;
  }

  write(run: Run, step: string, change: StepChange): Promise<StepAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ run, write: { fence: run.fence, step, change }, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#flushing || this.#waiting.length === 0) return;
    this.#scheduled = true;
    const { timers, random } = this.#world;
    if (this.#failures === 0) timers.nextTurn(this.#next);
    else {
      const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (this.#failures - 1), LONGEST_WAIT_MS);
      timers.after(waitMs * (0.5 + random.next()), this.#next);
    }
  }

  readonly #next = (): void => {
    this.#scheduled = false;
    void this.#flush();
  };

  async #flush(): Promise<void> {
    this.#flushing = true;
    const batch = this.#waiting.splice(0, this.#alone > 0 ? 1 : WRITES_PER_CALL);
    this.#alone = Math.max(0, this.#alone - batch.length);
    try {
      const answers = await this.#store.write(
        batch.map(({ write }) => write),
        { timeoutMs: this.#timeoutMs },
      );
      const busy = batch.filter((_, n) => answers[n]?.outcome === "busy");
      this.#failures = busy.length > 0 ? 1 : 0;
      for (const [n, { resolve }] of batch.entries()) {
        const answer = answers[n] as RunWriteAnswer;
        if (answer.outcome !== "busy") resolve(answer);
      }
      for (const waiting of busy) this.#again(waiting, new StoreBusyError("step", 0));
    } catch (error) {
      this.#failed(batch, error);
    }
    this.#flushing = false;
    this.#schedule();
  }

  #failed(batch: readonly Waiting[], error: unknown): void {
    const passing = error instanceof UnknownOutcomeError || error instanceof StoreBusyError;
    if (passing) this.#failures++;
    if (!passing && batch.length > 1) {
      this.#alone = batch.length;
      this.#waiting.unshift(...batch);
      return;
    }
    for (const waiting of batch) this.#again(waiting, error);
  }

  #again(waiting: Waiting, error: unknown): void {
    if (error instanceof UnknownOutcomeError) waiting.unknown ??= error;
    if (isAskedAgain(waiting.run, error)) this.#waiting.push(waiting);
    else waiting.reject(waiting.unknown ?? error);
  }
}
